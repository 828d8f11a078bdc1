import type { Database } from "percolatordb";
import { type Comparison, type ComparisonSpec, onceVerified, type Side } from "../harness/compare.js";
import { shuffled } from "../harness/data.js";
import { cellKey } from "../harness/raw.js";
import type { Bench, BenchCase } from "./bench.js";
import { Dataset } from "./dataset.js";
import { floorOf } from "./floors.js";

const rowsAtOnce = 100;

/**
 * Point reads in random order. Each takes a row as a string and returns a value as a string. LMDB
 * is also measured with prepared keys. No real program has these, but they show LMDB's maximum.
 */
export const reads: BenchCase = {
  name: "reads",
  about: "point reads through a snapshot, each awaited before the next, beside gets",
  run: (bench) =>
    bench.withDatabases({ durability: "none" }, async (db, raw) => {
      const { cells } = bench.options;
      const comparisons: Comparison[] = [];
      for (const [valueBytes, olderVersions] of [
        [100, 0],
        [1_000, 0],
        [100, 4],
      ] as const) {
        const name = `reads${valueBytes}v${olderVersions}`;
        const data = await new Dataset({ name, cells, valueBytes, olderVersions }, raw).load(bench, db, raw);
        for (const spec of specs(new Reads(bench, db, data))) comparisons.push(await bench.compare(spec));
      }
      return { comparisons, figures: [] };
    }),
};

function specs(of: Reads): readonly ComparisonSpec[] {
  const { valueBytes, olderVersions } = of.data;
  const what = `${valueBytes} bytes${olderVersions === 0 ? "" : `, with ${olderVersions} older versions`}`;
  const { unit, operations } = of;
  const named = (name: string) => ({ name, floor: floorOf(name) });
  const single = { unit, operations, raw: of.gets(), ours: of.singleReads() };
  if (olderVersions > 0) return [{ ...single, ...named(`reads, ${what}`) }];
  return [
    { ...single, ...named(`reads, ${what}`) },
    { ...single, ...named(`reads, ${what}, raw side with ready keys`), raw: of.getsOfReadyKeys() },
    { ...single, ...named(`getMany of ${rowsAtOnce}, ${what}`), ours: of.manyReads() },
  ];
}

/** The same reads, done in several ways. */
export class Reads {
  readonly unit = "reads";
  readonly operations: number;
  readonly data: Dataset;
  readonly #db: Database;
  readonly #order: Uint32Array;

  constructor(bench: Pick<Bench, "options">, db: Database, data: Dataset) {
    this.data = data;
    this.#db = db;
    this.#order = shuffled(data.cells, 1);
    this.operations = Math.min(data.cells, bench.options.quick ? 20_000 : 50_000);
  }

  /** The cells that a round reads. */
  #cells(round: number): Uint32Array {
    const from = (round * this.operations) % (this.#order.length - this.operations + 1);
    return this.#order.subarray(from, from + this.operations);
  }

  gets(): Side {
    const { raw, rows, name } = this.data;
    return {
      run: (round) => {
        const cells = this.#cells(round);
        let sum = 0;
        for (let at = 0; at < cells.length; at++) {
          sum += checkOf(raw.strings.get(cellKey(name, rows[cells[at]!]!, "contents")));
        }
        return sum;
      },
    };
  }

  getsOfReadyKeys(): Side {
    const { raw, keys } = this.data;
    return {
      run: (round) => {
        const cells = this.#cells(round);
        let sum = 0;
        for (let at = 0; at < cells.length; at++) sum += checkOf(raw.strings.get(keys[cells[at]!]!));
        return sum;
      },
    };
  }

  singleReads(): Side {
    const { rows, table } = this.data;
    return {
      run: async (round) => {
        await using snapshot = await this.#db.snapshot();
        const cells = this.#cells(round);
        let sum = 0;
        for (let at = 0; at < cells.length; at++) {
          sum += checkOf(await snapshot.get(table.contents, rows[cells[at]!]!));
        }
        return sum;
      },
      verify: onceVerified(() => this.#verifySingle()),
    };
  }

  manyReads(): Side {
    const { rows, table } = this.data;
    return {
      run: async (round) => {
        await using snapshot = await this.#db.snapshot();
        const cells = this.#cells(round);
        let sum = 0;
        for (let at = 0; at < cells.length; at += rowsAtOnce) {
          const some: string[] = [];
          const end = Math.min(at + rowsAtOnce, cells.length);
          for (let next = at; next < end; next++) some.push(rows[cells[next]!]!);
          for (const value of await snapshot.getMany(table.contents, some)) sum += checkOf(value);
        }
        return sum;
      },
      verify: onceVerified(() => this.#verifyMany()),
    };
  }

  /** Checks every cell of the table by the same reads. A single round reads only some cells. */
  async #verifySingle(): Promise<void> {
    const { data } = this;
    await using snapshot = await this.#db.snapshot();
    for (const cell of this.#order)
      data.expectNewest(cell, await snapshot.get(data.table.contents, data.rows[cell]!));
  }

  async #verifyMany(): Promise<void> {
    const { data } = this;
    await using snapshot = await this.#db.snapshot();
    for (let at = 0; at < this.#order.length; at += rowsAtOnce) {
      const cells = this.#order.subarray(at, at + rowsAtOnce);
      const some = Array.from(cells, (cell) => data.rows[cell]!);
      const values = await snapshot.getMany(data.table.contents, some);
      for (const [index, cell] of cells.entries()) data.expectNewest(cell, values[index]);
    }
  }
}

/**
 * A checksum of a value: its length and one character. The whole value is compared outside of the
 * measured time.
 */
function checkOf(value: string | undefined): number {
  return value === undefined ? Number.NaN : value.length + value.charCodeAt(0);
}
