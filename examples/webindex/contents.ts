/** A page as it was fetched. */
export interface Contents {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** The longest Content-Type that is kept, in bytes. */
const longestType = 1_000;

/**
 * Packs a page into one value: the length of its Content-Type in two bytes, the Content-Type, the
 * body.
 */
export function packContents({ contentType, body }: Contents): Uint8Array {
  const type = Buffer.from(contentType.slice(0, longestType), "latin1");
  const packed = Buffer.allocUnsafe(2 + type.length + body.length);
  packed.writeUInt16BE(type.length, 0);
  type.copy(packed, 2);
  packed.set(body, 2 + type.length);
  return packed;
}

/** Unpacks what {@link packContents} returned. The body is a view of the given bytes. */
export function unpackContents(packed: Uint8Array): Contents {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const start = 2 + bytes.readUInt16BE(0);
  return { contentType: bytes.toString("latin1", 2, start), body: bytes.subarray(start) };
}

/** Whether two packed values have the same body and the same Content-Type. */
export function sameContents(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
