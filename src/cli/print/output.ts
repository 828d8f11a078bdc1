import type { OutputStream } from "./io.js";
import { withoutControls } from "./layout.js";

/**
 * Thrown when printed output did not arrive: the stream's reader is gone, as `head` is after its
 * last line, or the device is full.
 */
export class OutputError extends Error {
  /** Whether the reader is gone. If false, the device failed. */
  readonly isClosed: boolean;

  constructor(name: string, cause: NodeJS.ErrnoException) {
    const isClosed = cause.code === "EPIPE" || cause.code === "ERR_STREAM_DESTROYED";
    const reason = isClosed ? "its reader closed it" : cause.message;
    super(`Not all output reached the ${name}: ${reason}.`, { cause });
    this.name = "OutputError";
    this.isClosed = isClosed;
  }
}

/** Prints to one stream, no faster than its reader reads. */
export class Output {
  readonly isTerminal: boolean;
  /** Width of the terminal in characters, or undefined if the stream is not a terminal. */
  readonly width: number | undefined;
  readonly #name: string;
  readonly #stream: OutputStream;
  readonly #onFailed: ((error: OutputError) => void) | undefined;
  readonly #listener = (error: NodeJS.ErrnoException) => this.#fail(error);
  #isUsed = false;
  #failure: OutputError | undefined;

  /**
   * `name`: for messages. `onFailed`: called once, with the reason, when the stream can no longer
   * be written.
   */
  constructor(name: string, stream: OutputStream, onFailed?: (error: OutputError) => void) {
    this.#name = name;
    this.#stream = stream;
    this.#onFailed = onFailed;
    this.isTerminal = stream.isTTY === true;
    this.width = this.isTerminal ? (stream.columns ?? 80) : undefined;
    stream.on("error", this.#listener);
  }

  /**
   * Prints a line. Names, values and messages in it may come from others, so characters that could
   * command the terminal are escaped.
   */
  line(text = ""): Promise<void> {
    return this.write(`${withoutControls(text)}\n`);
  }

  /** Prints a document as one line of JSON. */
  json(document: unknown): Promise<void> {
    return this.line(JSON.stringify(document));
  }

  /** Prints text or bytes unchanged. Resolves when the stream accepts more. */
  write(text: string | Uint8Array): Promise<void> {
    return this.#write(text, false);
  }

  /** Resolves when the stream has taken everything. Rejects if part of the output was lost. */
  flush(): Promise<void> {
    // An unused stream has lost nothing, even if it is closed.
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

  /**
   * Removes the listeners from the stream. A stream that has failed keeps its error listener: it
   * may emit the error again, and Node ends the process for an error that has no listener.
   */
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
