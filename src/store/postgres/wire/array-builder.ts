/**
 * Builds arrays in PostgreSQL's binary format, one element at a time. A group of transactions has
 * thousands of guards and values, which would otherwise be as many objects.
 */

const headBytes = 20;
const emptyHeadBytes = 12;
const firstBytes = 256;
const types = { bytea: 17, int8: 20, int4: 23 } as const;

/** An array of one type. Only the push method of that type may be used. */
export class ArrayBuilder {
  readonly #type: keyof typeof types;
  #body: Buffer = Buffer.allocUnsafe(firstBytes);
  #length = 0;
  #count = 0;
  #hasNull = false;

  constructor(type: keyof typeof types) {
    this.#type = type;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds bytes, or a null. */
  bytes(item: Uint8Array | undefined): void {
    this.#count++;
    if (item === undefined) {
      this.#reserve(4);
      this.#hasNull = true;
      this.#length = this.#body.writeInt32BE(-1, this.#length);
      return;
    }
    this.#reserve(4 + item.length);
    const at = this.#body.writeInt32BE(item.length, this.#length);
    this.#body.set(item, at);
    this.#length = at + item.length;
  }

  /** Adds an `int4`. */
  int4(item: number): void {
    this.#count++;
    this.#reserve(8);
    this.#length = this.#body.writeInt32BE(item, this.#body.writeInt32BE(4, this.#length));
  }

  /**
   * Adds an `int8` of 0 or more, or a placeholder from -128 to -1. A fraction is rounded up, and a number that is not safe
   * becomes the largest `int8`, which is larger than every timestamp.
   */
  int8(item: number): void {
    this.#count++;
    this.#reserve(12);
    const at = this.#body.writeInt32BE(8, this.#length);
    this.#length = at + 8;
    if (item < 0) {
      // A placeholder, of at least -128.
      this.#body.fill(0xff, at, at + 7);
      this.#body.writeInt8(item, at + 7);
    } else if (item > Number.MAX_SAFE_INTEGER) {
      this.#body.fill(0xff, at, at + 8);
      this.#body[at] = 0x7f;
    } else {
      const whole = Math.ceil(item);
      this.#body.writeUInt32BE(Math.floor(whole / 0x1_0000_0000), at);
      this.#body.writeUInt32BE(whole % 0x1_0000_0000, at + 4);
    }
  }

  /** The elements of arrays of one type as one array, for a parameter. */
  static join(builders: readonly ArrayBuilder[]): Buffer {
    let count = 0;
    let bytes = headBytes;
    let hasNull = false;
    for (const each of builders) {
      count += each.#count;
      bytes += each.#length;
      hasNull ||= each.#hasNull;
    }
    const joined = Buffer.allocUnsafe(bytes);
    joined.writeInt32BE(count === 0 ? 0 : 1, 0);
    joined.writeInt32BE(hasNull ? 1 : 0, 4);
    joined.writeInt32BE(builders.length === 0 ? types.int4 : types[builders[0]!.#type], 8);
    if (count === 0) return joined.subarray(0, emptyHeadBytes);
    joined.writeInt32BE(count, 12);
    joined.writeInt32BE(1, 16);
    let at = headBytes;
    for (const each of builders) at += each.#body.copy(joined, at, 0, each.#length);
    return joined;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#body.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#body.length));
    this.#body.copy(grown, 0, 0, this.#length);
    this.#body = grown;
  }
}
