import type { OutputStream } from "./io.js";

/** What was printed did not arrive: the stream's reader is gone, such as `head` when it has its lines, or its device has no room. */
export class OutputError extends Error {
  /** Whether the reader is gone. */
  readonly isClosed: boolean;

  constructor(name: string, cause: NodeJS.ErrnoException) {
    const isClosed = cause.code === "EPIPE" || cause.code === "ERR_STREAM_DESTROYED";
    const reason = isClosed ? "its reader closed it" : cause.message;
    super(`Not all was printed to the ${name}: ${reason}.`, { cause });
    this.name = "OutputError";
    this.isClosed = isClosed;
  }
}

/** Printing to one stream, no faster than it is read. */
export class Output {
  readonly isTerminal: boolean;
  /** Characters of a line on the terminal; `undefined` elsewhere. */
  readonly width: number | undefined;
  readonly #name: string;
  readonly #stream: OutputStream;
  readonly #onFailed: ((error: OutputError) => void) | undefined;
  readonly #listener = (error: NodeJS.ErrnoException) => this.#fail(error);
  #isUsed = false;
  #failure: OutputError | undefined;

  /** `name`: for messages. `onFailed`: told once that nothing more can be printed, and why. */
  constructor(name: string, stream: OutputStream, onFailed?: (error: OutputError) => void) {
    this.#name = name;
    this.#stream = stream;
    this.#onFailed = onFailed;
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
    // A stream that was never written to has lost nothing, though it may be closed.
    return this.#isUsed ? this.#write("", true) : Promise.resolve();
  }

  #write(text: string | Uint8Array, wait: boolean): Promise<void> {
    this.#isUsed = true;
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const takesMore = this.#stream.write(text, (error) => {
        if (error) reject(this.#fail(error));
        else resolve();
      });
      if (takesMore && !wait) resolve();
    });
  }

  /** Leaves the stream to others. One that has failed may still tell so, and nobody else listens. */
  release(): void {
    if (this.#failure === undefined) this.#stream.off("error", this.#listener);
  }

  #fail(error: NodeJS.ErrnoException): OutputError {
    if (this.#failure === undefined) {
      this.#failure = new OutputError(this.#name, error);
      this.#onFailed?.(this.#failure);
    }
    return this.#failure;
  }
}
