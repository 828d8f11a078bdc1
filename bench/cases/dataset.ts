import { type Database, table, text } from "percolatordb";
import { expectValue } from "../harness/compare.js";
import { rowOf, textOf } from "../harness/data.js";
import { cellKey, type RawDatabase, type RawPut, type RawTable, versionKey } from "../harness/raw.js";
import type { Bench } from "./bench.js";

/** Cells that one transaction loads. */
const loadedAtOnce = 1_000;

export interface DatasetSpec {
  readonly name: string;
  readonly cells: number;
  readonly valueBytes: number;
  /** The number of older versions of each cell. */
  readonly olderVersions: number;
}

/** One table of cells, the same in both databases. */
export class Dataset {
  readonly name: string;
  readonly cells: number;
  readonly valueBytes: number;
  readonly olderVersions: number;
  readonly table;
  readonly raw: RawTable;
  readonly rawHistory: RawTable;
  readonly rows: readonly string[];
  /** The raw keys, by index. */
  readonly keys: readonly Buffer[];

  constructor(spec: DatasetSpec, raw: RawDatabase) {
    this.name = spec.name;
    this.olderVersions = spec.olderVersions;
    this.cells = spec.cells;
    this.valueBytes = spec.valueBytes;
    this.table = table(spec.name, { contents: text() });
    this.raw = raw.table(spec.name);
    this.rawHistory = raw.table(`${spec.name}-history`);
    this.rows = Array.from({ length: spec.cells }, (_, index) => rowOf(index));
    this.keys = this.rows.map((row) => cellKey(spec.name, row, "contents"));
  }

  /** The bytes before the row in a raw key. */
  get keyPrefixBytes(): number {
    return this.name.length + 1;
  }

  /** The bytes after the row in a raw key. */
  get keySuffixBytes(): number {
    return "\0\u0001contents".length;
  }

  /** The value that a read of the newest version must return. */
  newest(index: number): string {
    return textOf(index, this.valueBytes, this.olderVersions);
  }

  /** Throws a `WrongResultError` if `value` is not the newest version's value. */
  expectNewest(index: number, value: string | undefined): void {
    expectValue(this.rows[index]!, value, this.newest(index));
  }

  /** Fills both databases with each cell's older versions and its newest one. */
  async load(bench: Bench, db: Database, raw: RawDatabase): Promise<this> {
    const { name, cells, olderVersions } = this;
    bench.say(`loading ${cells} cells of ${this.valueBytes} bytes into ${name}`);
    for (let version = 0; version <= olderVersions; version++) {
      for (let from = 0; from < cells; from += loadedAtOnce) {
        const to = Math.min(cells, from + loadedAtOnce);
        await this.#loadOurs(db, from, to, version);
        raw.load(this.#rawPuts(from, to, version));
      }
    }
    await raw.root.flushed;
    return this;
  }

  #loadOurs(db: Database, from: number, to: number, version: number): Promise<void> {
    return db.transact((tx) => {
      for (let index = from; index < to; index++) {
        tx.set(this.table.contents, this.rows[index]!, textOf(index, this.valueBytes, version));
      }
    });
  }

  #rawPuts(from: number, to: number, version: number): RawPut[] {
    const puts: RawPut[] = [];
    for (let index = from; index < to; index++) {
      const key = this.keys[index]!;
      if (version > 0) {
        const value = Buffer.from(textOf(index, this.valueBytes, version - 1));
        puts.push({ table: this.rawHistory, key: versionKey(key, version), value });
      }
      puts.push({ table: this.raw, key, value: Buffer.from(textOf(index, this.valueBytes, version)) });
    }
    return puts;
  }
}
