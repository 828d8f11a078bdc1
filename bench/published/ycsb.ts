import { type Database, open, table, text } from "percolatordb";
import { randomNumbers, textOf } from "../harness/data.js";
import { sayProgress } from "../harness/program.js";
import { LastWrites, type Rate, runClients } from "./clients.js";
import { drawsOf } from "./draws.js";
import { hashOf, scrambledZipfian } from "./zipfian.js";

/** YCSB's core workloads: records of ten fields of 100 bytes, read whole and updated field by field. */
const usertable = table("usertable", {
  field0: text(),
  field1: text(),
  field2: text(),
  field3: text(),
  field4: text(),
  field5: text(),
  field6: text(),
  field7: text(),
  field8: text(),
  field9: text(),
});
const fields = [
  usertable.field0,
  usertable.field1,
  usertable.field2,
  usertable.field3,
  usertable.field4,
  usertable.field5,
  usertable.field6,
  usertable.field7,
  usertable.field8,
  usertable.field9,
];
const fieldBytes = 100;
const loadedAtOnce = 500;
const clients = 100;
/** Records are drawn before the measured time, since YCSB's hash is slow in JavaScript. */
const drawn = 2 ** 17;

export type Workload = "A" | "B" | "C" | "F";
export type Distribution = "uniform" | "zipfian";

/** The shares of operations, as in YCSB's files workloada, workloadb, workloadc and workloadf. */
export const workloads: Readonly<
  Record<Workload, { readonly update: number; readonly readModifyWrite: number }>
> = {
  A: { update: 0.5, readModifyWrite: 0 },
  B: { update: 0.05, readModifyWrite: 0 },
  C: { update: 0, readModifyWrite: 0 },
  F: { update: 0, readModifyWrite: 0.5 },
};

export interface YcsbOptions {
  readonly records: number;
  readonly seconds: number;
}

export interface YcsbRun {
  readonly workload: Workload;
  readonly distribution: Distribution;
  readonly clients: number;
  readonly rate: Rate;
  readonly conflictShare: number;
}

export interface YcsbResult {
  readonly options: YcsbOptions;
  readonly runs: readonly YcsbRun[];
  /** Records that lacked fields, and fields that do not hold the value of their last commit. */
  readonly wrong: number;
}

/** The key of a record, as YCSB makes it unless records are inserted in order. */
export const userOf = (record: number) => `user${hashOf(record)}`;

const fieldValue = (cell: number, salt: number) => textOf(cell, fieldBytes, salt);

export async function measureYcsb(folder: string, options: YcsbOptions): Promise<YcsbResult> {
  const users = Array.from({ length: options.records }, (_, record) => userOf(record));
  await load(folder, users);
  await using db = await open(folder, { tables: [usertable], collectEveryMs: 0 });
  const bench = new YcsbBench(db, users, options.seconds);
  const runs: YcsbRun[] = [];
  for (const distribution of ["uniform", "zipfian"] as const) {
    const records = recordsOf(distribution, options.records);
    for (const workload of Object.keys(workloads) as Workload[]) {
      sayProgress(`YCSB ${workload}, ${distribution}`);
      runs.push({ workload, distribution, clients, ...(await bench.run(workload, records)) });
    }
  }
  return { options, runs, wrong: await bench.countWrong() };
}

async function load(folder: string, users: readonly string[]): Promise<void> {
  await using db = await open(folder, { tables: [usertable], durability: "none", collectEveryMs: 0 });
  for (let first = 0; first < users.length; first += loadedAtOnce) {
    sayProgress(`YCSB: loaded ${first} of ${users.length} records`);
    await db.transact((tx) => {
      for (let record = first; record < Math.min(users.length, first + loadedAtOnce); record++)
        for (const [field, column] of fields.entries())
          tx.set(column, users[record]!, fieldValue(record * fields.length + field, 0));
    });
  }
}

/** Draws records below `count`. */
function recordsOf(distribution: Distribution, count: number): Uint32Array {
  const uniform = randomNumbers(3);
  const next = distribution === "uniform" ? () => uniform(count) : scrambledZipfian(count, drawsOf(3));
  return Uint32Array.from({ length: drawn }, next);
}

class YcsbBench {
  readonly #db: Database;
  readonly #users: readonly string[];
  readonly #seconds: number;
  readonly #last = new LastWrites();
  #salt = 0;
  #incomplete = 0;

  constructor(db: Database, users: readonly string[], seconds: number) {
    this.#db = db;
    this.#users = users;
    this.#seconds = seconds;
  }

  /** Runs a workload over records in their order. */
  async run(workload: Workload, records: Uint32Array): Promise<Pick<YcsbRun, "rate" | "conflictShare">> {
    const { update, readModifyWrite } = workloads[workload];
    const draw = drawsOf(workload.charCodeAt(0));
    let [runs, transactions] = [0, 0];
    const rate = await runClients({ clients, seconds: this.#seconds }, async () => {
      const record = records[transactions++ % drawn]!;
      const kind = draw();
      const reads = kind >= update;
      const writes = kind < update || kind >= 1 - readModifyWrite;
      const field = Math.trunc(draw() * fields.length);
      const salt = writes ? ++this.#salt : 0;
      const cell = record * fields.length + field;
      await this.#db.transact(async (tx) => {
        runs++;
        const user = this.#users[record]!;
        if (reads) {
          const found = await tx.row(usertable, user);
          if (Object.keys(found ?? {}).length < fields.length) this.#incomplete++;
        }
        if (!writes) return;
        tx.set(fields[field]!, user, fieldValue(cell, salt));
        tx.onCommit((at) => this.#last.add(cell, salt, at));
      });
      return 1;
    });
    return { rate, conflictShare: 1 - transactions / runs };
  }

  /** Compares every field with the last write that was committed to it. */
  async countWrong(): Promise<number> {
    await using snapshot = await this.#db.snapshot();
    let wrong = this.#incomplete;
    for (const [field, column] of fields.entries()) {
      for (let first = 0; first < this.#users.length; first += loadedAtOnce) {
        const found = await snapshot.getMany(column, this.#users.slice(first, first + loadedAtOnce));
        for (const [index, value] of found.entries()) {
          const cell = (first + index) * fields.length + field;
          if (value !== fieldValue(cell, this.#last.saltOf(cell))) wrong++;
        }
      }
    }
    return wrong;
  }
}
