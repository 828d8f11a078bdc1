import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** A write to the data file. Times are line numbers of the trace. */
export interface TracedWrite {
  readonly begun: number;
  /** When the system answered, or Infinity if it had not when the trace ended. */
  readonly ended: number;
  readonly offset: number;
  readonly bytes: Buffer;
  /** The file was opened for synchronous writes: an answered write is on the disk. */
  readonly synced: boolean;
}

export interface TracedSync {
  readonly begun: number;
  readonly ended: number;
}

/** What processes did to a data file and which commits were confirmed to them, in order. */
export interface Trace {
  readonly writes: readonly TracedWrite[];
  readonly syncs: readonly TracedSync[];
  /** Lines of the journals: names of operations whose commit was confirmed. */
  readonly told: readonly { readonly at: number; readonly name: string }[];
  readonly lines: number;
}

/**
 * Calls that change a file in ways that are not reconstructed here. A trace with one of them proves
 * nothing.
 */
const unknownCalls = new Set(["msync", "ftruncate", "fallocate", "sync_file_range", "pwritev2"]);

/** The size of the file's first pages, which contain LMDB's heads. */
const headBytes = 8_192;

/** The system calls to record. */
export const tracedCalls =
  "openat,mmap,lseek,write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,msync,ftruncate,fallocate,sync_file_range";

/** Reads the output of `strace -f -xx` about a data file and the journals. */
export async function readTrace(path: string, dataFile: string): Promise<Trace> {
  const reader = new TraceReader(dataFile);
  for await (const line of createInterface({ input: createReadStream(path) })) reader.line(line);
  return reader.trace();
}

interface Call {
  readonly thread: string;
  readonly name: string;
  readonly text: string;
  readonly begun: number;
}

class TraceReader {
  readonly #dataFile: string;
  readonly #writes: TracedWrite[] = [];
  readonly #syncs: TracedSync[] = [];
  readonly #told: { at: number; name: string }[] = [];
  /** Calls without an answer yet, by thread. */
  readonly #underWay = new Map<string, Call>();
  /** The file offset that a thread has set and will write at. */
  readonly #positions = new Map<string, number>();
  /** Descriptors with synchronous writes, by number and file as strace shows them. */
  readonly #synced = new Set<string>();
  #lines = 0;

  constructor(dataFile: string) {
    this.#dataFile = dataFile;
  }

  line(text: string): void {
    this.#lines++;
    const [, thread, rest] = /^(\d+)\s+(.*)$/s.exec(text) ?? [];
    if (thread === undefined || rest === undefined) return;
    const resumed = /^<\.\.\. (\w+) resumed>(.*)$/s.exec(rest);
    if (resumed !== null) {
      const call = this.#underWay.get(thread);
      this.#underWay.delete(thread);
      if (call !== undefined) this.#call({ ...call, text: call.text + resumed[2]! }, this.#lines);
      return;
    }
    const name = /^(\w+)\(/.exec(rest)?.[1];
    if (name === undefined) return;
    const unfinished = rest.endsWith("<unfinished ...>");
    const call = { thread, name, text: rest.replace(/ ?<unfinished \.\.\.>$/, ""), begun: this.#lines };
    if (unfinished) this.#underWay.set(thread, call);
    else this.#call(call, this.#lines);
  }

  trace(): Trace {
    for (const call of this.#underWay.values()) this.#call(call, Number.POSITIVE_INFINITY);
    this.#writes.sort((a, b) => a.begun - b.begun);
    return { writes: this.#writes, syncs: this.#syncs, told: this.#told, lines: this.#lines };
  }

  #call(call: Call, ended: number): void {
    const { name, text, begun, thread } = call;
    if (name === "openat") {
      this.#opened(text);
      return;
    }
    const descriptor = /\((\d+)<((?:\\x[0-9a-f]{2})*)>/.exec(text);
    if (name === "mmap") {
      if (/PROT_WRITE/.test(text))
        throw new Error(`The data file is mapped for writing: ${text.slice(0, 200)}`);
      return;
    }
    if (descriptor === null) return;
    if (unhex(descriptor[2]!).toString() !== this.#dataFile) {
      this.#journal(call);
      return;
    }
    if (unknownCalls.has(name)) throw new Error(`A call that is not understood: ${text.slice(0, 200)}`);
    const answer = Number(/\)\s+= (-?\d+)/.exec(text)?.[1] ?? Number.NaN);
    if (name === "lseek") this.#positions.set(thread + descriptor[1], answer);
    else if (name === "fdatasync" || name === "fsync") {
      if (answer === 0) this.#syncs.push({ begun, ended });
    } else this.#written(call, ended, answer, descriptor);
  }

  #opened(text: string): void {
    const [, descriptor] = /= (\d+<[^>]*>)/.exec(text) ?? [];
    if (descriptor === undefined) return;
    if (/O_DSYNC|O_SYNC/.test(text)) this.#synced.add(descriptor);
    else this.#synced.delete(descriptor);
  }

  #written(call: Call, ended: number, answer: number, descriptor: RegExpExecArray): void {
    const { name, text, begun, thread } = call;
    const strings = [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((match) => unhex(match[1]!));
    const all = Buffer.concat(strings);
    if (answer < 0) return;
    // A write that was never answered may have been done in full.
    const bytes = Number.isNaN(answer) ? all : all.subarray(0, answer);
    if (!Number.isNaN(answer) && all.length < answer)
      throw new Error(`A write is cut off: ${text.slice(0, 200)}`);
    const place = thread + descriptor[1];
    let offset = this.#positions.get(place) ?? Number.NaN;
    if (name === "writev" || name === "write") this.#positions.set(place, offset + bytes.length);
    else offset = Number(/, (\d+)(?:\)|$)/.exec(text)?.[1] ?? Number.NaN);
    if (Number.isNaN(offset)) throw new Error(`A write without a place: ${text.slice(0, 120)}`);
    // `#synced` does not tell processes apart, and their descriptors may have different numbers.
    // But LMDB writes only its heads through a synchronous descriptor.
    const synced = offset < headBytes && this.#synced.has(`${descriptor[1]}<${descriptor[2]}>`);
    this.#writes.push({ begun, ended, offset, bytes: Buffer.from(bytes), synced });
  }

  #journal({ name, text, begun }: Call): void {
    if (name !== "write") return;
    const [, data] = /"((?:\\x[0-9a-f]{2})*)"/.exec(text) ?? [];
    for (const told of unhex(data ?? "")
      .toString()
      .split("\n")) {
      if (told !== "") this.#told.push({ at: begun, name: told });
    }
  }
}

function unhex(text: string): Buffer {
  return Buffer.from(text.replaceAll("\\x", ""), "hex");
}
