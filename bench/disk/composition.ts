/** What the file of an embedded database consists of. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { parsePath } from "../../src/schema/index.js";
import { DataFile, isLong, type Node, type Tree } from "../../src/store/lmdb/file/pages.js";
import { cellOfKey } from "../../src/store/lmdb/record/key.js";
import { flags, headerBytes, newestEnd, newestStart } from "../../src/store/lmdb/record/layout.js";
import { sealBytes } from "../../src/store/lmdb/record/seal.js";

/** The bytes of one column's records in one of LMDB's databases. */
export interface ColumnBytes {
  /** Such as `documents.contents`, `documents.~ack`, or `documents.contents, older`. */
  readonly name: string;
  records: number;
  keys: number;
  /** The newest values, with what the protocol stores before each. */
  values: number;
  /** Older versions that are kept within the newest one's record. */
  older: number;
  /** Flags, timestamps, checksums, and LMDB's head of each record. */
  overhead: number;
  /** The pages of long values that the values themselves do not fill. */
  unfilled: number;
}

/** All bytes of a file. */
export interface Composition {
  readonly bytes: number;
  readonly columns: readonly ColumnBytes[];
  /** Branch pages. */
  readonly branches: number;
  /** What the leaf pages have left, and LMDB's head of each page. */
  readonly room: number;
  /** Pages that LMDB will use again. */
  readonly free: number;
}

const pageHead = 24;
/** LMDB's head of a record, with its place in the page's index. */
const nodeHead = 10;
/** Where LMDB notes on which pages a long value is. */
const longPlace = 24;

/** Reads the file of a database that no process writes. */
export function compositionOf(folder: string): Composition {
  const descriptor = openSync(join(folder, "data.mdb"), "r");
  try {
    return new Reading(new DataFile(descriptor, fstatSync(descriptor).size)).read();
  } finally {
    closeSync(descriptor);
  }
}

class Reading {
  readonly #file: DataFile;
  readonly #columns = new Map<string, ColumnBytes>();
  #branches = 0;
  #room = 0;

  constructor(file: DataFile) {
    this.#file = file;
  }

  read(): Composition {
    // Also learns the size of pages.
    this.#file.metas();
    const meta = this.#file.newest();
    for (const [name, tree] of this.#file.trees(meta)) this.#readTree(name, tree);
    const columns = [...this.#columns.values()].sort((a, b) => totalOf(b) - totalOf(a));
    // Also those that the last transaction freed.
    const afterwards = { ...meta, transaction: Number.POSITIVE_INFINITY };
    const free = this.#file.freePages(afterwards, Number.POSITIVE_INFINITY).pages * this.#file.pageSize;
    return { bytes: this.#file.size, columns, branches: this.#branches, room: this.#room, free };
  }

  #readTree(name: string, { root }: Tree): void {
    if (root !== undefined) this.#readPage(name, root);
  }

  #readPage(name: string, number: number): void {
    const { pageSize } = this.#file;
    const { branch, nodes } = this.#file.page(number);
    if (branch) {
      this.#branches += pageSize;
      for (const { child } of nodes) this.#readPage(name, child);
      return;
    }
    const used = nodes.reduce((sum, { key, data }) => sum + nodeHead + key.length + data.length, 0);
    this.#room += pageSize - used;
    for (const node of nodes) this.#readNode(name, node);
  }

  #readNode(name: string, node: Node): void {
    const column = this.#column(name, node.key);
    column.records++;
    column.keys += node.key.length;
    let { data } = node;
    let overhead = nodeHead;
    if (isLong(node)) {
      const { pageSize } = this.#file;
      overhead += longPlace + pageHead;
      column.unfilled += this.#file.longPages(node).count * pageSize - pageHead - node.size;
      data = this.#file.longValue(node);
    }
    const [value, older] = name === "cells" ? partsOf(data) : [Math.max(data.length - sealBytes, 0), 0];
    column.values += value;
    column.older += older;
    column.overhead += overhead + data.length - value - older;
  }

  #column(database: string, key: Buffer): ColumnBytes {
    const name = nameOf(database, key);
    let column = this.#columns.get(name);
    if (column === undefined) {
      column = { name, records: 0, keys: 0, values: 0, older: 0, overhead: 0, unfilled: 0 };
      this.#columns.set(name, column);
    }
    return column;
  }
}

/** The bytes of the newest value of a cell's entry, and of the older ones. */
function partsOf(entry: Buffer): readonly [value: number, older: number] {
  const length = entry.length - sealBytes;
  const isWritten = (entry[0]! & flags.write) !== 0;
  if (!isWritten || length <= headerBytes) return [0, 0];
  const end = newestEnd(entry, length);
  return [end - newestStart(entry[0]!), length - end];
}

function nameOf(database: string, key: Buffer): string {
  const cell = database === "meta" ? undefined : cellOfKey(key);
  if (cell === undefined) return database;
  const { name } = parsePath(cell.column);
  const column = `${cell.table}.${name.split("\0")[0]}`;
  return database === "cells" ? column : `${column}, ${database === "versions" ? "older" : database}`;
}

/** All bytes of a column's records. */
export function totalOf({ keys, values, older, overhead, unfilled }: ColumnBytes): number {
  return keys + values + older + overhead + unfilled;
}
