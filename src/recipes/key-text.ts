import type { KeyCodec } from "../index.js";

/** Keys as texts, by which recipes hash them and name rows of their own. */
export interface KeyText<K> {
  readonly format: (key: K) => string;
  readonly parse: (text: string) => K;
}

/** How the keys of a table are texts: strings as they are, composite keys as JSON. */
export function keyText<K>(codec: KeyCodec<K> | undefined): KeyText<K> {
  if (codec !== undefined) return { format: (key) => codec.format(key), parse: (text) => codec.parse(text) };
  return { format: (key) => key as string, parse: (text) => text as K };
}
