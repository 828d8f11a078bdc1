import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { PassThrough, pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { throwIfAborted } from "../../environment/index.js";
import { UsageError } from "../usage-error.js";

/** A file or a stream to import. A file can be read twice, a stream only once. */
export interface ImportInput {
  readonly name: string;
  readonly isFile: boolean;
  /** Bytes of the file, or undefined for a stream. */
  readonly size: number | undefined;
  /** Bytes read since the last call of `text`. */
  readonly bytesRead: number;
  /** Yields the text from the beginning. Decompresses it if it is compressed. */
  text(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/**
 * Opens a file to import. `wanted`: what the user must give, for the error message.
 *
 * @throws UsageError if there is no such file.
 */
export async function fileInput(path: string, name: string, wanted: string): Promise<ImportInput> {
  const found = await stat(path).catch((error: Error) => {
    throw new UsageError(`The file ${name} cannot be read: ${error.message}`);
  });
  if (!found.isFile()) throw new UsageError(`${name} is not a file. Give ${wanted}.`);
  return new Input(name, true, found.size, () => createReadStream(path));
}

/** Returns what arrives on a stream. */
export function streamInput(stream: Readable): ImportInput {
  return new Input("The standard input", false, undefined, () => stream);
}

class Input implements ImportInput {
  readonly name: string;
  readonly isFile: boolean;
  readonly size: number | undefined;
  readonly #open: () => Readable;
  #bytesRead = 0;

  constructor(name: string, isFile: boolean, size: number | undefined, open: () => Readable) {
    this.name = name;
    this.isFile = isFile;
    this.size = size;
    this.#open = open;
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  async *text(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const doing = "The import";
    throwIfAborted(signal, doing);
    this.#bytesRead = 0;
    const source = this.#open();
    const end = () => source.destroy();
    signal.addEventListener("abort", end, { once: true });
    try {
      yield* this.#decompressed(source);
      throwIfAborted(signal, doing);
    } catch (error) {
      throwIfAborted(signal, doing);
      throw error;
    } finally {
      signal.removeEventListener("abort", end);
      source.destroy();
    }
  }

  async *#decompressed(source: Readable): AsyncGenerator<Uint8Array> {
    const chunks = this.#counted(source);
    const first = await chunks.next();
    if (first.done) return;
    const whole = rejoined(first.value, chunks);
    if (first.value[0] !== 0x1f) {
      yield* whole;
      return;
    }
    const text = createGunzip();
    // The consumer of `text` receives any error of this pipeline.
    pipeline(Readable.from(whole), text, () => {});
    const out = new PassThrough();
    pipeline(text, out, (error) => error && out.destroy(error));
    yield* out as AsyncIterable<Uint8Array>;
  }

  async *#counted(source: Readable): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array);
      this.#bytesRead += bytes.length;
      if (bytes.length > 0) yield bytes;
    }
  }
}

async function* rejoined(first: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
