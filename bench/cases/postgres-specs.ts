import { type Database, table, text } from "percolatordb";
import {
  type ComparisonSpec,
  expectValue,
  inFlight,
  type Side,
  WrongResultError,
} from "../harness/compare.js";
import { rowOf, shuffled, textOf } from "../harness/data.js";
import type { RawPostgres, RawUpsert } from "./postgres-raw.js";

const valueBytes = 100;
/** Rows of one `getMany`, and of one scan. */
const rowsAtOnce = 100;
/** Keys of one raw statement that reads. */
const rawKeysAtOnce = 64;
const loadedAtOnce = 500;

export const documents = table("documents", { contents: text() });
const { contents } = documents;

/** The cells of both sides, and the values that they must hold. */
export class PostgresCells {
  readonly rows: readonly string[];
  readonly #db: Database;
  readonly #raw: RawPostgres;
  /** The salt of each cell's newest value. Both sides write the same values in each round. */
  readonly #salts: number[];

  constructor(db: Database, raw: RawPostgres, count: number) {
    this.#db = db;
    this.#raw = raw;
    this.rows = Array.from({ length: count }, (_, cell) => rowOf(cell));
    this.#salts = new Array<number>(count).fill(0);
  }

  valueOf(cell: number): string {
    return textOf(cell, valueBytes, this.#salts[cell]);
  }

  async load(): Promise<void> {
    const { rows } = this;
    for (let from = 0; from < rows.length; from += loadedAtOnce) {
      const upserts = rows
        .slice(from, from + loadedAtOnce)
        .map((key, index) => ({ key, value: this.valueOf(from + index) }));
      await this.#db.transact((tx) => {
        for (const { key, value } of upserts) tx.set(contents, key, value);
      });
      await this.#raw.commit(upserts);
    }
    await this.#raw.analyze();
  }

  /**
   * Transactions that overwrite cells. No two transactions of a round write the same cell. The raw
   * side reads and checks nothing, and keeps no older version.
   */
  transactions(shape: {
    readonly cells: number;
    readonly width: number;
    readonly wanted: number;
  }): ComparisonSpec {
    const { cells, width } = shape;
    const groups = Math.floor(this.rows.length / cells);
    const count = Math.min(shape.wanted, groups);
    const order = shuffled(this.rows.length, 4 + cells);
    const salt = cells * 1_000_000;
    const unitsOf = (round: number): readonly (readonly RawUpsert[])[] =>
      Array.from({ length: count }, (_, index) => {
        const first = ((round * count + index) % groups) * cells;
        return Array.from(order.subarray(first, first + cells), (cell) => {
          this.#salts[cell] = salt + round;
          return { key: this.rows[cell]!, value: this.valueOf(cell) };
        });
      });
    const side = (commit: (upserts: readonly RawUpsert[]) => Promise<void>): Side => {
      let units: readonly (readonly RawUpsert[])[] = [];
      return {
        prepare(round) {
          units = unitsOf(round);
        },
        async run() {
          await inFlight(count, width, (index) => commit(units[index]!));
          return count;
        },
      };
    };
    const words = cells === 1 ? "one cell" : `${cells} cells`;
    return {
      name: `transactions of ${words} on PostgreSQL, ${width.toLocaleString("en")} in flight`,
      unit: "transactions",
      operations: count,
      raw: side((upserts) => this.#raw.commit(upserts)),
      ours: side((upserts) =>
        this.#db.transact((tx) => {
          for (const { key, value } of upserts) tx.set(contents, key, value);
        }),
      ),
    };
  }

  /** Point reads through one snapshot, which our store gathers. */
  reads({ wanted, width }: { readonly wanted: number; readonly width: number }): ComparisonSpec {
    const cells = this.#some(wanted, 6);
    const found = new Map<number, string | undefined>();
    return {
      name: `reads on PostgreSQL, ${width.toLocaleString("en")} in flight, gathered`,
      unit: "reads",
      operations: cells.length,
      raw: this.#rawReads(cells, rawKeysAtOnce),
      ours: {
        run: async () => {
          await using snapshot = await this.#db.snapshot();
          found.clear();
          await inFlight(cells.length, width, async (index) => {
            const cell = cells[index]!;
            found.set(cell, await snapshot.get(contents, this.rows[cell]!));
          });
          return sumOf(found.values());
        },
        verify: () => this.#expectAll(found),
      },
    };
  }

  manyReads(wanted: number): ComparisonSpec {
    const cells = this.#some(wanted, 7);
    const found = new Map<number, string | undefined>();
    return {
      name: `getMany of ${rowsAtOnce} on PostgreSQL`,
      unit: "reads",
      operations: cells.length,
      raw: this.#rawReads(cells, rowsAtOnce),
      ours: {
        run: async () => {
          await using snapshot = await this.#db.snapshot();
          found.clear();
          for (const some of inParts(cells, rowsAtOnce)) {
            const values = await snapshot.getMany(
              contents,
              some.map((cell) => this.rows[cell]!),
            );
            for (const [index, cell] of some.entries()) found.set(cell, values[index]);
          }
          return sumOf(found.values());
        },
        verify: () => this.#expectAll(found),
      },
    };
  }

  scans(wanted: number): ComparisonSpec {
    const limit = Math.min(rowsAtOnce, this.rows.length);
    const last = this.rows.length - limit;
    const starts = this.#some(Math.min(wanted, this.rows.length) / limit, 8).map(
      (cell) => this.rows[Math.min(cell, last)]!,
    );
    const side = (scanAll: (take: (row: string, value: string) => void) => Promise<void>): Side => {
      const found: [row: string, value: string][] = [];
      return {
        async run() {
          found.length = 0;
          await scanAll((...each) => found.push(each));
          return sumOf(found.map(([, value]) => value));
        },
        verify: () => {
          const cells = new Map(this.rows.map((row, cell) => [row, cell]));
          for (const [row, value] of found) expectValue(row, value, this.valueOf(cells.get(row)!));
        },
      };
    };
    return {
      name: `scans of ${rowsAtOnce} on PostgreSQL`,
      unit: "entries",
      operations: starts.length * limit,
      raw: side(async (take) => {
        for (const start of starts)
          for (const { key, value } of await this.#raw.scan(start, limit)) take(key, value);
      }),
      ours: side(async (take) => {
        await using snapshot = await this.#db.snapshot();
        for (const start of starts)
          for await (const { row, value } of snapshot.scan(contents, { start, limit })) take(row, value);
      }),
    };
  }

  /** Reads back all cells of both sides. Throws a `WrongResultError` if one is wrong or missing. */
  async verify(): Promise<void> {
    const ours = new Map<string, string>();
    await using snapshot = await this.#db.snapshot();
    for await (const { row, value } of snapshot.scan(contents)) ours.set(row, value);
    const rows = await this.#raw.scan("", this.rows.length + 1);
    const raw = new Map(rows.map(({ key, value }) => [key, value]));
    for (const found of [ours, raw]) {
      for (const [cell, row] of this.rows.entries()) expectValue(row, found.get(row), this.valueOf(cell));
      if (found.size > this.rows.length)
        throw new WrongResultError(`${found.size} rows were found, but ${this.rows.length} were written.`);
    }
  }

  #some(wanted: number, seed: number): readonly number[] {
    return Array.from(shuffled(this.rows.length, seed).subarray(0, Math.max(1, Math.floor(wanted))));
  }

  /** One statement at a time. */
  #rawReads(cells: readonly number[], atOnce: number): Side {
    const keys = inParts(cells, atOnce).map((some) => some.map((cell) => this.rows[cell]!));
    let found = new Map<string, string>();
    return {
      run: async () => {
        found = new Map();
        for (const some of keys)
          for (const { key, value } of await this.#raw.read(some)) found.set(key, value);
        return sumOf(found.values());
      },
      verify: () => {
        for (const cell of cells) {
          const row = this.rows[cell]!;
          expectValue(row, found.get(row), this.valueOf(cell));
        }
      },
    };
  }

  #expectAll(found: ReadonlyMap<number, string | undefined>): void {
    for (const [cell, value] of found) expectValue(this.rows[cell]!, value, this.valueOf(cell));
  }
}

/** NaN if a value is missing. */
function sumOf(values: Iterable<string | undefined>): number {
  let sum = 0;
  for (const value of values) sum += value === undefined ? Number.NaN : value.length + value.charCodeAt(0);
  return sum;
}

function inParts(cells: readonly number[], size: number): readonly (readonly number[])[] {
  return Array.from({ length: Math.ceil(cells.length / size) }, (_, part) =>
    cells.slice(part * size, (part + 1) * size),
  );
}
