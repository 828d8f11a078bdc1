import { createHash, type Hash } from "node:crypto";
import { InvalidValueError } from "../../errors/index.js";
import { UsageError } from "../usage-error.js";
import { type FileRecord, type RecordParser, RefusedFile } from "./record.js";

/** A place between two records of a file. */
export interface FilePlace {
  /** Bytes before it, decompressed. */
  readonly offset: number;
  /** Number of the line that begins there, from 1. */
  readonly line: number;
  /** Checksum of all bytes before it. */
  readonly sha256: string;
}

/** Reads the records of a file, and knows the place behind each of them. */
export class RowFile {
  readonly #input: AsyncIterable<Uint8Array>;
  readonly #name: string;
  readonly #parser: RecordParser;
  readonly #hash: Hash = createHash("sha256");
  #offset = 0;

  /** `input`: the decompressed bytes. `name`: the name of the file, for messages. */
  constructor(input: AsyncIterable<Uint8Array>, name: string, parser: RecordParser) {
    this.#input = input;
    this.#name = name;
    this.#parser = parser;
  }

  /** The place behind the last record. Correct until the next record is read. */
  place(line: number): FilePlace {
    return { offset: this.#offset, line, sha256: this.#hash.copy().digest("hex") };
  }

  /**
   * Yields the records from a place on, or all.
   *
   * @throws UsageError if the file does not have the same bytes before the place.
   * @throws InvalidValueError if the file cannot be divided into records.
   */
  async *records(from: FilePlace | undefined): AsyncGenerator<FileRecord> {
    try {
      yield* this.#records(from);
    } catch (error) {
      throw error instanceof RefusedFile ? new InvalidValueError(`${this.#name}: ${error.message}.`) : error;
    }
  }

  async *#records(from: FilePlace | undefined): AsyncGenerator<FileRecord> {
    let isThere = from === undefined;
    for await (const chunk of this.#chunks()) {
      let rest = chunk;
      if (from !== undefined && !isThere) {
        const passed = chunk.subarray(0, from.offset - this.#offset);
        this.#pass(passed);
        if (this.#offset < from.offset) continue;
        this.#checkSame(from);
        isThere = true;
        rest = chunk.subarray(passed.length);
      }
      for (const record of this.#parser.push(rest)) {
        this.#pass(record.bytes);
        yield record;
      }
    }
    if (from !== undefined && !isThere) this.#checkSame(from);
    for (const record of this.#parser.end()) {
      this.#pass(record.bytes);
      yield record;
    }
  }

  #pass(bytes: Buffer): void {
    this.#hash.update(bytes);
    this.#offset += bytes.length;
  }

  #checkSame(from: FilePlace): void {
    if (this.#offset === from.offset && this.#hash.copy().digest("hex") === from.sha256) return;
    throw new UsageError(
      `${this.#name} has changed before line ${from.line}, where an earlier import stopped, so this import cannot continue there. ` +
        "Give the same file again, or give --restart to import all lines of this one.",
    );
  }

  async *#chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#input) {
        yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code?.startsWith("Z_") !== true) throw error;
      throw new InvalidValueError(
        `${this.#name} cannot be decompressed (${(error as Error).message}), so it is damaged or cut. Rows before that place ` +
          "may be imported. Give a whole file: the import then continues.",
      );
    }
  }
}
