const headerBytes = 9;
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length;
const [data, headers] = [0, 1];

/**
 * Follows the frames of one direction of an HTTP/2 connection, to find frames with a part of a
 * call.
 */
export class Frames {
  /** Bytes until the next frame begins. */
  #left: number;
  #header = Buffer.alloc(0);

  /** Only the client's direction begins with the preface. */
  constructor(isClients: boolean) {
    this.#left = isClients ? preface : 0;
  }

  /**
   * Returns where in `chunk`, the next bytes, the first frame of headers or data begins. Undefined
   * if there is none.
   */
  take(chunk: Buffer): number | undefined {
    let found: number | undefined;
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, chunk.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const begins = Math.max(0, at - this.#header.length);
      const part = chunk.subarray(at, at + headerBytes - this.#header.length);
      this.#header = Buffer.concat([this.#header, part]);
      at += part.length;
      if (this.#header.length < headerBytes) break;
      const type = this.#header[3];
      this.#left = this.#header.readUIntBE(0, 3);
      this.#header = Buffer.alloc(0);
      if (type === data || type === headers) found ??= begins;
    }
    return found;
  }
}
