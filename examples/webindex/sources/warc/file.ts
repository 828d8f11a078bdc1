import { type FileHandle, open } from "node:fs/promises";

const readBytes = 256 * 1024;

/**
 * Reads a file forward through a window, with jumps. It uses the memory of one window, whatever the
 * size of the file.
 */
export class ArchiveFile {
  readonly path: string;
  readonly size: number;
  /** Offset of the next byte. */
  position = 0;
  readonly #handle: FileHandle;
  readonly #signal: AbortSignal | undefined;
  #window: Buffer = Buffer.alloc(0);
  #windowOffset = 0;

  private constructor(path: string, size: number, handle: FileHandle, signal: AbortSignal | undefined) {
    this.path = path;
    this.size = size;
    this.#handle = handle;
    this.#signal = signal;
  }

  static async open(path: string, signal?: AbortSignal): Promise<ArchiveFile> {
    signal?.throwIfAborted();
    const handle = await open(path, "r");
    try {
      return new ArchiveFile(path, (await handle.stat()).size, handle, signal);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get ended(): boolean {
    return this.position >= this.size;
  }

  /**
   * Returns the bytes at `position`: at least `least` of them unless the file ends before. The
   * bytes are not overwritten later.
   */
  async peek(least: number): Promise<Buffer> {
    const held = this.#held();
    if (held.length >= least || this.position + held.length >= this.size) return held;
    const window = Buffer.allocUnsafeSlow(Math.min(Math.max(least, readBytes), this.size - this.position));
    let filled = held.copy(window);
    while (filled < window.length) {
      this.#signal?.throwIfAborted();
      const { bytesRead } = await this.#handle.read(
        window,
        filled,
        window.length - filled,
        this.position + filled,
      );
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    this.#window = window.subarray(0, filled);
    this.#windowOffset = this.position;
    return this.#window;
  }

  skip(count: number): void {
    this.position += count;
  }

  seek(offset: number): void {
    this.position = offset;
  }

  /** Yields the file from `offset` in pieces, without moving `position`. */
  async *piecesFrom(offset: number): AsyncGenerator<Buffer, void> {
    for (let at = offset; at < this.size; ) {
      this.#signal?.throwIfAborted();
      const piece = Buffer.allocUnsafeSlow(Math.min(readBytes, this.size - at));
      const { bytesRead } = await this.#handle.read(piece, 0, piece.length, at);
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  #held(): Buffer {
    const from = this.position - this.#windowOffset;
    return from >= 0 && from < this.#window.length
      ? this.#window.subarray(from)
      : this.#window.subarray(0, 0);
  }
}
