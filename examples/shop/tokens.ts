/**
 * The words of a name, without case and accents, each once. A longer word would not fit into a key, so it is
 * divided.
 */
export function tokensOf(name: string): readonly string[] {
  const plain = name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return [...new Set(plain.match(/[\p{L}\p{N}]{1,100}/gu) ?? [])];
}
