import { constants, createGzip, type Gzip } from "node:zlib";

/**
 * A window of 8 KiB, so that a connection takes about 50 KB instead of the default's 260 KB. Events
 * are small, and repeat what the last ones had.
 */
const settings = { windowBits: 13, memLevel: 5, flush: constants.Z_SYNC_FLUSH } as const;

/**
 * Compresses a stream of events so that each can be read when it arrives. The web's own
 * `CompressionStream` cannot flush.
 */
export class FlushingGzip {
  readonly #gzip: Gzip = createGzip(settings);
  #chunks: Uint8Array[] = [];

  constructor() {
    this.#gzip.on("data", (chunk: Uint8Array) => this.#chunks.push(chunk));
    // A failed write reports the error to its caller.
    this.#gzip.on("error", () => undefined);
  }

  /** Compresses some bytes, with all that was given before. One call at a time. */
  compress(bytes: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#gzip.write(bytes, (error) => (error ? reject(error) : resolve(this.#taken())));
    });
  }

  /** Returns the last bytes of the stream. */
  finish(): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#gzip.once("error", reject);
      this.#gzip.once("end", () => resolve(this.#taken()));
      this.#gzip.end();
    });
  }

  /** Frees the memory at once. */
  destroy(): void {
    this.#gzip.destroy();
  }

  #taken(): Uint8Array {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  }
}
