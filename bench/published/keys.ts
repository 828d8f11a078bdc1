import { bytes, type Database, open, table } from "percolatordb";
import { randomNumbers } from "../harness/data.js";
import { sayProgress } from "../harness/program.js";
import { LastWrites, type Rate, runClients } from "./clients.js";

/**
 * The single-core tests of FoundationDB's guide "Benchmarking": rows with 16-byte keys and random
 * values of 8 to 100 bytes.
 */
const rows = table("rows", { value: bytes() });

const loadedAtOnce = 5_000;
const rangeRows = 1_000;

export interface KeysOptions {
  readonly rows: number;
  readonly seconds: number;
}

export interface KeysTest {
  readonly name: string;
  readonly unit: "writes" | "reads" | "operations" | "keys";
  readonly clients: number;
  readonly rate: Rate;
  /** Runs of transactions that ended in a conflict, divided by all. */
  readonly conflictShare: number;
}

export interface KeysResult {
  readonly options: KeysOptions;
  readonly tests: readonly KeysTest[];
  /** Rows that do not hold the value of their last commit, and ranges that lacked rows. */
  readonly wrong: number;
}

/** The 16-byte key of a row. */
export const keyOf = (index: number) => `key-${String(index).padStart(12, "0")}`;

/** A value of 8 to 100 bytes. It begins with the row's number and the write's. */
export function rowValue(index: number, salt: number): Uint8Array {
  const value = new Uint8Array(8 + ((index * 31 + salt * 17) % 93)).fill(index + salt);
  const view = new DataView(value.buffer);
  view.setUint32(0, index);
  view.setUint32(4, salt);
  return value;
}

export async function measureKeys(folder: string, options: KeysOptions): Promise<KeysResult> {
  await load(folder, options.rows);
  await using db = await open(folder, { tables: [rows], collectEveryMs: 0 });
  const run = new KeysRun(db, options);
  const tests = [
    await run.writes(1, 1),
    await run.writes(1, 10),
    await run.writes(100, 10),
    await run.reads(100, 10),
    await run.mixed(100),
    await run.ranges(100),
  ];
  return { options, tests, wrong: await run.countWrong() };
}

async function load(folder: string, count: number): Promise<void> {
  await using db = await open(folder, { tables: [rows], durability: "none", collectEveryMs: 0 });
  for (let first = 0; first < count; first += loadedAtOnce) {
    sayProgress(`keys: loaded ${first} of ${count} rows`);
    await db.transact((tx) => {
      for (let index = first; index < Math.min(count, first + loadedAtOnce); index++)
        tx.set(rows.value, keyOf(index), rowValue(index, 0));
    });
  }
}

class KeysRun {
  readonly #db: Database;
  readonly #options: KeysOptions;
  readonly #random: (below: number) => number;
  readonly #last = new LastWrites();
  #salt = 0;
  #runs = 0;
  #transactions = 0;
  #missing = 0;

  constructor(db: Database, options: KeysOptions) {
    this.#db = db;
    this.#options = options;
    this.#random = randomNumbers(1);
  }

  /** Transactions that each write some random keys. */
  writes(clients: number, keys: number): Promise<KeysTest> {
    const name = `write ${keys} random ${keys === 1 ? "key" : "keys"}`;
    return this.#test(name, "writes", clients, async () => {
      await this.#change(0, keys);
      return keys;
    });
  }

  /** Transactions that each read some random keys. */
  reads(clients: number, keys: number): Promise<KeysTest> {
    return this.#test(`read ${keys} random keys`, "reads", clients, async () => {
      await this.#change(keys, 0);
      return keys;
    });
  }

  /** Transactions that each read nine random keys and write one. */
  mixed(clients: number): Promise<KeysTest> {
    return this.#test("read 9 random keys and write 1", "operations", clients, async () => {
      await this.#change(9, 1);
      return 10;
    });
  }

  /** Transactions that each read a range. */
  ranges(clients: number): Promise<KeysTest> {
    const limit = Math.min(rangeRows, this.#options.rows);
    return this.#test(`read a random range of ${rangeRows} keys`, "keys", clients, async () => {
      const start = keyOf(this.#random(this.#options.rows - limit + 1));
      const found = await this.#db.transact(async (tx) => {
        this.#runs++;
        let count = 0;
        for await (const _ of tx.scan(rows.value, { start, limit })) count++;
        return count;
      });
      this.#transactions++;
      if (found !== limit) this.#missing++;
      return found;
    });
  }

  /** Compares every row with the last write that was committed to it. */
  async countWrong(): Promise<number> {
    await using snapshot = await this.#db.snapshot();
    let [index, wrong] = [0, 0];
    for await (const { row, value } of snapshot.scan(rows.value)) {
      const right = rowValue(index, this.#last.saltOf(index));
      if (row !== keyOf(index) || Buffer.compare(value, right) !== 0) wrong++;
      index++;
    }
    return wrong + Math.abs(this.#options.rows - index) + this.#missing;
  }

  async #change(reads: number, writes: number): Promise<void> {
    const draw = () => this.#random(this.#options.rows);
    const read = Array.from({ length: reads }, draw);
    const written = [...new Set(Array.from({ length: writes }, draw))].map(
      (index) => [index, ++this.#salt] as const,
    );
    this.#transactions++;
    await this.#db.transact(async (tx) => {
      this.#runs++;
      if (reads > 0) {
        const found = await tx.getMany(
          rows.value,
          read.map((index) => keyOf(index)),
        );
        if (found.some((value) => value === undefined)) this.#missing++;
      }
      for (const [index, salt] of written) tx.set(rows.value, keyOf(index), rowValue(index, salt));
      tx.onCommit((at) => {
        for (const [index, salt] of written) this.#last.add(index, salt, at);
      });
    });
  }

  async #test(
    name: string,
    unit: KeysTest["unit"],
    clients: number,
    step: () => Promise<number>,
  ): Promise<KeysTest> {
    sayProgress(`keys: ${name}, ${clients} clients`);
    [this.#runs, this.#transactions] = [0, 0];
    const rate = await runClients({ clients, seconds: this.#options.seconds }, step);
    return { name, unit, clients, rate, conflictShare: 1 - this.#transactions / this.#runs };
  }
}
