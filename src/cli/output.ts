import type { OutputStream } from "./io.js";

/** Thrown when the reader of the output is gone, such as `head` when it has its lines: no failure, only the end. */
export class OutputClosed extends Error {
  constructor() {
    super("the output was closed by its reader");
    this.name = "OutputClosed";
  }
}

/** Printing to one stream, no faster than it is read. */
export class Output {
  readonly isTerminal: boolean;
  /** Characters of a line on the terminal; `undefined` elsewhere. */
  readonly width: number | undefined;
  readonly #stream: OutputStream;
  readonly #onClosed: ((error: Error) => void) | undefined;
  readonly #listener = (error: NodeJS.ErrnoException) => this.#fail(error);
  #failure: Error | undefined;

  /** `onClosed`: told once that nothing more can be printed, and why. */
  constructor(stream: OutputStream, onClosed?: (error: Error) => void) {
    this.#stream = stream;
    this.#onClosed = onClosed;
    this.isTerminal = stream.isTTY === true;
    this.width = this.isTerminal ? (stream.columns ?? 80) : undefined;
    stream.on("error", this.#listener);
  }

  /** Prints a line. */
  line(text = ""): Promise<void> {
    return this.write(`${text}\n`);
  }

  /** Prints a document as one line of JSON. */
  json(document: unknown): Promise<void> {
    return this.line(JSON.stringify(document));
  }

  /** Prints text or bytes as they are. Resolves when the stream takes more. */
  write(text: string | Uint8Array): Promise<void> {
    return this.#write(text, false);
  }

  /** Resolves when everything has been taken; rejects where something was not. */
  flush(): Promise<void> {
    return this.#write("", true);
  }

  #write(text: string | Uint8Array, wait: boolean): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const takesMore = this.#stream.write(text, (error) => {
        if (error) reject(this.#fail(error));
        else resolve();
      });
      if (takesMore && !wait) resolve();
    });
  }

  /** Leaves the stream to others. */
  release(): void {
    this.#stream.off("error", this.#listener);
  }

  #fail(error: NodeJS.ErrnoException): Error {
    if (this.#failure === undefined) {
      const closed = error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED";
      this.#failure = closed ? new OutputClosed() : error;
      this.#onClosed?.(this.#failure);
    }
    return this.#failure;
  }
}
