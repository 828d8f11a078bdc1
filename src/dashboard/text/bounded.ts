/** The text of all chunks. Undefined if they have more than `maxBytes` bytes together. */
export async function boundedText(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<string | undefined> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    read.push(chunk);
  }
  return Buffer.concat(read).toString("utf8");
}
