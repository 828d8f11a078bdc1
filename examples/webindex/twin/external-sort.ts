import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SortedRecord {
  readonly key: string;
  readonly value: string;
}

/** The most bytes that a sort keeps in memory. A single record may be longer. */
export const defaultHeldBytes = 32 * 1024 * 1024;

/** How many runs are merged at a time. Each has an open file and a buffer. */
const maxRuns = 48;
const readBytes = 64 * 1024;
const lengthBytes = 4;
/** A buffered record needs these bytes besides its contents, for the offsets of its two ends. */
const entryBytes = 8;
const separator = 0;

/**
 * Sorts records by the bytes of their keys, even if they do not fit into memory. It spills sorted
 * runs to temporary files, and merges them when they are read. The files are in the folder that
 * `TMPDIR` names. They are unlinked at once, so they disappear with the process.
 *
 * A key must not contain a NUL character. Records are added first. Then they can be read
 * repeatedly.
 */
export class ExternalSort implements Disposable {
  readonly #limit: number;
  #bytes: Buffer = Buffer.alloc(0);
  #used = 0;
  #entries: number[] = [];
  #runs: Run[] = [];
  #isSorted = false;

  constructor(heldBytes: number = defaultHeldBytes) {
    this.#limit = heldBytes;
  }

  /** The bytes of records in memory now. */
  get heldBytes(): number {
    return this.#used + (this.#entries.length / 2) * entryBytes;
  }

  add(key: string, value: string): void {
    const keyBytes = Buffer.byteLength(key);
    const length = keyBytes + 1 + Buffer.byteLength(value);
    if (this.#used > 0 && this.heldBytes + length + entryBytes > this.#limit) this.#spill();
    this.#makeRoom(length);
    const start = this.#used;
    this.#bytes.write(key, start);
    this.#bytes[start + keyBytes] = separator;
    this.#bytes.write(value, start + keyBytes + 1);
    this.#used += length;
    this.#entries.push(start, start + length);
    this.#isSorted = false;
  }

  /** Yields all records in key order. Records with the same key are ordered by value. */
  *records(): Generator<SortedRecord, void> {
    if (this.#runs.length === 0) {
      for (const bytes of this.#held()) yield decode(bytes);
      return;
    }
    if (this.#used > 0) this.#spill();
    this.#bytes = Buffer.alloc(0);
    for (const bytes of merge(this.#runs)) yield decode(bytes);
  }

  [Symbol.dispose](): void {
    for (const run of this.#runs) run.close();
    this.#runs = [];
    this.#bytes = Buffer.alloc(0);
    this.#used = 0;
    this.#entries = [];
  }

  *#held(): Generator<Buffer, void> {
    if (!this.#isSorted) this.#sort();
    const entries = this.#entries;
    for (let at = 0; at < entries.length; at += 2) yield this.#bytes.subarray(entries[at]!, entries[at + 1]!);
  }

  #sort(): void {
    const bytes = this.#bytes;
    const entries = this.#entries;
    const order = new Uint32Array(entries.length / 2).map((_, index) => index * 2);
    order.sort((a, b) => bytes.compare(bytes, entries[b]!, entries[b + 1]!, entries[a]!, entries[a + 1]!));
    this.#entries = [];
    for (const at of order) this.#entries.push(entries[at]!, entries[at + 1]!);
    this.#isSorted = true;
  }

  /** The buffer grows as needed. Most sorts of a small index never need all of it. */
  #makeRoom(length: number): void {
    const needed = this.#used + length;
    if (needed <= this.#bytes.length) return;
    const doubled = Math.min(this.#limit, Math.max(readBytes, this.#bytes.length * 2));
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, doubled));
    this.#bytes.copy(grown, 0, 0, this.#used);
    this.#bytes = grown;
  }

  #spill(): void {
    this.#runs.push(Run.write(this.#held()));
    this.#used = 0;
    this.#entries = [];
    // A buffer that was enlarged for one long record is not kept.
    if (this.#bytes.length > this.#limit) this.#bytes = Buffer.alloc(0);
    if (this.#runs.length < maxRuns) return;
    const merged = Run.write(merge(this.#runs));
    for (const run of this.#runs) run.close();
    this.#runs = [merged];
  }
}

/** Sorted records in a file. Each is stored as its length and its bytes. */
class Run {
  readonly #file: number;
  readonly #size: number;

  private constructor(file: number, size: number) {
    this.#file = file;
    this.#size = size;
  }

  static write(records: Iterable<Buffer>): Run {
    const path = join(tmpdir(), `webindex-sort-${randomUUID()}`);
    const file = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    let size = 0;
    let parts: Buffer[] = [];
    let waiting = 0;
    const flush = () => {
      for (let bytes = Buffer.concat(parts); bytes.length > 0; ) {
        const written = writeSync(file, bytes, 0, bytes.length, size);
        size += written;
        bytes = bytes.subarray(written);
      }
      [parts, waiting] = [[], 0];
    };
    try {
      for (const record of records) {
        const length = Buffer.allocUnsafe(lengthBytes);
        length.writeUInt32LE(record.length);
        parts.push(length, record);
        waiting += lengthBytes + record.length;
        if (waiting >= readBytes) flush();
      }
      flush();
    } catch (error) {
      closeSync(file);
      throw error;
    }
    return new Run(file, size);
  }

  /** Yields the records in order. Each is valid until the next is requested. */
  *read(): Generator<Buffer, void> {
    let window = Buffer.allocUnsafe(0);
    let offset = 0;
    const fill = (least: number) => {
      const wanted = Math.min(Math.max(least, readBytes), this.#size - (offset - window.length));
      const next = Buffer.allocUnsafe(wanted);
      let filled = window.copy(next);
      while (filled < wanted) {
        const read = readSync(this.#file, next, filled, wanted - filled, offset);
        if (read === 0) throw new Error("A temporary file of the comparison is shorter than it was written");
        offset += read;
        filled += read;
      }
      window = next;
    };
    for (;;) {
      if (window.length < lengthBytes && offset < this.#size) fill(lengthBytes);
      if (window.length === 0) return;
      const length = window.readUInt32LE(0);
      if (window.length < lengthBytes + length) fill(lengthBytes + length);
      yield window.subarray(lengthBytes, lengthBytes + length);
      window = window.subarray(lengthBytes + length);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

interface Head {
  record: Buffer;
  readonly rest: Iterator<Buffer>;
}

/** Merges several runs in order, with a heap of their first records. */
function* merge(runs: readonly Run[]): Generator<Buffer, void> {
  const heap: Head[] = [];
  for (const run of runs) {
    const rest = run.read();
    const first = rest.next();
    if (!first.done) heap.push({ record: first.value, rest });
  }
  for (let at = heap.length >> 1; at-- > 0; ) sink(heap, at);
  while (heap.length > 0) {
    const top = heap[0]!;
    yield top.record;
    const next = top.rest.next();
    if (!next.done) top.record = next.value;
    else {
      const last = heap.pop()!;
      if (heap.length === 0) return;
      heap[0] = last;
    }
    sink(heap, 0);
  }
}

function sink(heap: Head[], start: number): void {
  const head = heap[start]!;
  let at = start;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && Buffer.compare(heap[child + 1]!.record, heap[child]!.record) < 0) child++;
    if (Buffer.compare(head.record, heap[child]!.record) <= 0) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = head;
}

function decode(record: Buffer): SortedRecord {
  const end = record.indexOf(separator);
  return { key: record.toString("utf8", 0, end), value: record.toString("utf8", end + 1) };
}
