/** A page as it was fetched. */
export interface Contents {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** The longest Content-Type that is kept, in bytes. */
const longestType = 1_000;

/** One value of a page: the length of the Content-Type in two bytes, the Content-Type, the body. */
export function packContents({ contentType, body }: Contents): Uint8Array {
  const type = Buffer.from(contentType.slice(0, longestType), "latin1");
  const packed = Buffer.allocUnsafe(2 + type.length + body.length);
  packed.writeUInt16BE(type.length, 0);
  type.copy(packed, 2);
  packed.set(body, 2 + type.length);
  return packed;
}

/** What {@link packContents} made one value of. The body is a view of it. */
export function unpackContents(packed: Uint8Array): Contents {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const start = 2 + bytes.readUInt16BE(0);
  return { contentType: bytes.toString("latin1", 2, start), body: bytes.subarray(start) };
}

/** Whether two packed values are of the same page: same body, same Content-Type. */
export function sameContents(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
