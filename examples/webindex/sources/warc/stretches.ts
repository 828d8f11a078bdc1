import type { ArchiveFile } from "./file.js";
import { Damage, inflateMember, isWholeMember, looksLikeMember, memberMagic } from "./member.js";

/** Bytes of records, and their place in the file. */
export interface Chunk {
  readonly bytes: Buffer;
  /** The offset of the first byte in a plain file, or of the gzip member in a compressed one. */
  readonly offset: number;
}

/**
 * The contents of an archive as stretches. No record extends from one stretch into the next. In a
 * compressed archive every gzip member that begins with a record starts a stretch. A plain archive
 * is one stretch.
 */
export interface Stretches {
  /** Whether the offsets of chunks count single bytes. */
  readonly plain: boolean;
  /** Moves to the next stretch. Returns `false` at the end. Throws {@link Damage}. */
  advance(): Promise<boolean>;
  /**
   * Returns the next chunk of the stretch, or `undefined` at its end. Throws {@link Damage}, which
   * ends the stretch.
   */
  next(): Promise<Chunk | undefined>;
  /**
   * After {@link Damage}, moves to the next place at which reading can continue. Returns `false` if
   * there is none.
   */
  recover(damage: Damage): Promise<boolean>;
  /** The most bytes that can still follow in the stretch. */
  most(): number;
  /** In a plain file, continues at this offset. */
  seek(offset: number): void;
}

/** A plain archive. Only the records themselves show damage in it. */
export class PlainStretches implements Stretches {
  readonly plain = true;
  readonly #file: ArchiveFile;
  #begun = false;

  constructor(file: ArchiveFile) {
    this.#file = file;
  }

  async advance(): Promise<boolean> {
    const first = !this.#begun;
    this.#begun = true;
    return first && !this.#file.ended;
  }

  async next(): Promise<Chunk | undefined> {
    const offset = this.#file.position;
    const bytes = await this.#file.peek(1);
    if (bytes.length === 0) return undefined;
    this.#file.skip(bytes.length);
    return { bytes, offset };
  }

  async recover(): Promise<boolean> {
    return false;
  }

  most(): number {
    return Math.max(0, this.#file.size - this.#file.position);
  }

  seek(offset: number): void {
    this.#file.seek(offset);
  }
}

/** Deflate produces at most 1032 bytes from one. */
const largestRatio = 1032;

/**
 * A gzip archive, with one member for each record as the standard requires, or with fewer or more
 * members.
 */
export class GzipStretches implements Stretches {
  readonly plain = false;
  readonly #file: ArchiveFile;
  #member: AsyncGenerator<Buffer, void> | undefined;
  #memberOffset = 0;
  #within = false;
  /**
   * The first chunk of the next stretch, or the damage in its place. It was read at the end of the
   * previous stretch.
   */
  #first: Chunk | Damage | undefined;

  constructor(file: ArchiveFile) {
    this.#file = file;
  }

  async advance(): Promise<boolean> {
    this.#first ??= await this.#begin();
    if (this.#first instanceof Damage) throw this.#first;
    this.#within = this.#first !== undefined;
    return this.#within;
  }

  async next(): Promise<Chunk | undefined> {
    if (!this.#within) return undefined;
    if (this.#first && !(this.#first instanceof Damage)) {
      const first = this.#first;
      this.#first = undefined;
      return first;
    }
    const piece = await this.#member?.next();
    if (piece && !piece.done) return { bytes: piece.value, offset: this.#memberOffset };
    const first = await this.#begin();
    // A record may continue in the next member, because some tools cut at arbitrary places. It
    // cannot continue in a member that begins with a record.
    if (first && !(first instanceof Damage) && !beginsRecord(first.bytes)) return first;
    this.#first = first;
    this.#within = false;
    return undefined;
  }

  async recover(damage: Damage): Promise<boolean> {
    this.#member = undefined;
    this.#first = undefined;
    this.#within = false;
    const file = this.#file;
    file.seek(damage.offset + 1);
    for (;;) {
      const view = await file.peek(memberMagic.length);
      if (view.length < memberMagic.length) break;
      const at = view.indexOf(memberMagic);
      file.skip(at < 0 ? view.length - memberMagic.length + 1 : at);
      if (at < 0) continue;
      if (looksLikeMember(await file.peek(64 * 1024)) || (await isWholeMember(file))) return true;
      file.skip(1);
    }
    file.seek(file.size);
    return false;
  }

  most(): number {
    return (this.#file.size - this.#memberOffset) * largestRatio;
  }

  seek(): void {
    throw new Error("A compressed archive is read forward only");
  }

  /** Opens the next member that is not empty, and reads its first piece. */
  async #begin(): Promise<Chunk | Damage | undefined> {
    while (!this.#file.ended) {
      this.#memberOffset = this.#file.position;
      this.#member = inflateMember(this.#file);
      try {
        const piece = await this.#member.next();
        if (!piece.done) return { bytes: piece.value, offset: this.#memberOffset };
      } catch (error) {
        if (error instanceof Damage) return error;
        throw error;
      }
    }
    this.#member = undefined;
    return undefined;
  }
}

function beginsRecord(bytes: Buffer): boolean {
  return "WARC/".startsWith(bytes.subarray(0, 5).toString("latin1"));
}
