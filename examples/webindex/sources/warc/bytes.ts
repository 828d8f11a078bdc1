import { Damage } from "./member.js";
import type { Chunk, Stretches } from "./stretches.js";

const empty = Buffer.alloc(0);

/**
 * Reads the bytes of one stretch forward. Buffers only bytes that were peeked at and not taken yet.
 */
export class ByteReader {
  readonly #stretches: Stretches;
  #held: Buffer = empty;
  /** The offset of the first buffered byte. */
  #offset = 0;
  /**
   * Positions in `#held` at which later gzip members begin, so that `offset` refers to the right
   * member.
   */
  #seams: { at: number; offset: number }[] = [];
  #ended = false;
  /** The gzip member of the last buffered byte. */
  #lastMember = -1;
  #startsMember = false;
  #damage: Damage | undefined;

  constructor(stretches: Stretches) {
    this.#stretches = stretches;
  }

  /** Whether offsets count single bytes, so that the reader can go back. */
  get plain(): boolean {
    return this.#stretches.plain;
  }

  /**
   * The file offset of the next byte (plain), or of its gzip member. Valid directly after
   * `peek(1)`.
   */
  get offset(): number {
    return this.#offset;
  }

  /**
   * Whether the next byte is the first of a gzip member, but not of the stretch's first member.
   * Valid directly after `peek(1)`.
   */
  get startsMember(): boolean {
    return this.#startsMember;
  }

  /**
   * The damage that ends the stretch, once the reader has met it. The bytes before it can still be
   * read.
   */
  get damage(): Damage | undefined {
    return this.#damage;
  }

  /** All buffered bytes. Empty only at the end of the stretch or before the first `peek`. */
  get held(): Buffer {
    return this.#held;
  }

  /**
   * Returns the next `count` bytes without taking them. Returns fewer only at the end of the
   * stretch.
   */
  async peek(count: number): Promise<Buffer> {
    if (this.#held.length < count) await this.#hold(count);
    return this.#held.subarray(0, count);
  }

  /** Takes `count` bytes, or fewer at the end of the stretch. */
  async take(count: number): Promise<Buffer> {
    const taken = await this.peek(count);
    this.drop(taken.length);
    return taken;
  }

  /** Takes `count` bytes without buffering them. Returns how many there were. */
  async pass(count: number, see: (bytes: Buffer) => void): Promise<number> {
    let passed = 0;
    while (passed < count) {
      if ((await this.peek(1)).length === 0) break;
      const bytes = this.#held.subarray(0, count - passed);
      see(bytes);
      passed += bytes.length;
      this.drop(bytes.length);
    }
    return passed;
  }

  /** Takes `count` of the buffered bytes. */
  drop(count: number): void {
    this.#held = this.#held.subarray(count);
    if (this.#stretches.plain) this.#offset += count;
    if (count > 0) this.#startsMember = false;
    for (const seam of this.#seams) seam.at -= count;
    while (this.#seams[0] && this.#seams[0].at <= 0) {
      this.#startsMember = this.#seams[0].at === 0;
      this.#offset = this.#seams.shift()!.offset;
    }
  }

  /**
   * Goes back to an earlier position, if possible. `offset` must be the value of {@link offset} at
   * that position, and `bytes` all bytes that were taken since.
   */
  restore(offset: number, bytes: Buffer | undefined): void {
    if (this.#stretches.plain) {
      this.#stretches.seek(offset);
      this.#held = empty;
      this.#offset = offset;
      this.#ended = false;
    } else if (bytes) {
      for (const seam of this.#seams) seam.at += bytes.length;
      this.#startsMember = false;
      this.#held = Buffer.concat([bytes, this.#held]);
    }
  }

  /** The most bytes that can still follow. */
  most(): number {
    return this.#held.length + this.#stretches.most();
  }

  async #hold(count: number): Promise<void> {
    const parts = [this.#held];
    let length = this.#held.length;
    while (length < count && !this.#ended) {
      const chunk = await this.#next();
      if (!chunk) {
        this.#ended = true;
        break;
      }
      const isNew = !this.#stretches.plain && this.#lastMember !== chunk.offset;
      if (length === 0) {
        this.#offset = chunk.offset;
        this.#startsMember = isNew && this.#lastMember >= 0;
      } else if (isNew) {
        this.#seams.push({ at: length, offset: chunk.offset });
      }
      if (!this.#stretches.plain) this.#lastMember = chunk.offset;
      parts.push(chunk.bytes);
      length += chunk.bytes.length;
    }
    if (parts.length > 1)
      this.#held = this.#held.length === 0 && parts.length === 2 ? parts[1]! : Buffer.concat(parts, length);
  }

  async #next(): Promise<Chunk | undefined> {
    try {
      return await this.#stretches.next();
    } catch (error) {
      if (!(error instanceof Damage)) throw error;
      this.#damage = error;
      return undefined;
    }
  }
}
