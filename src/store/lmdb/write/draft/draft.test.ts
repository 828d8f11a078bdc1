import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemEnvironment } from "../../../../environment/index.js";
import {
  allColumns,
  CellBlock,
  CellCursor,
  commitTimestamp,
  type Part,
  type RowStore,
} from "../../../index.js";
import { memoryStore } from "../../../memory/index.js";
import type { AtomicBatch, Guard, Mutation, RowMutation } from "../../../mutation.js";
import { openDatabases } from "../../file/opening.js";
import { Openings } from "../../file/openings.js";
import { readRaw } from "../../read/raw.js";
import type { Databases } from "../../record/databases.js";
import { Key, tablePrefix } from "../../record/key.js";
import { readState, writeState } from "../../record/state.js";
import { GuardCache } from "../plan/guard-cache.js";
import { Plan } from "../plan/plan.js";
import { WriteQueue } from "../queue.js";
import { Draft } from "./draft.js";
import { Drafting } from "./drafting.js";
import { NotPlannableError } from "./not-plannable.js";
import { type Answer, Request, type Task } from "./request.js";

/** The counter alone gives the timestamps, so that two stores give the same ones. */
const environment = { ...systemEnvironment, now: () => 0 };
const options = { readOnly: false, create: true, noReadAhead: false, mapSize: 2 ** 26, maxReaders: 16 };
const table = "t";
const parts = ["write", "lock", "data", "txn"] as const;

let path: string;
let databases: Databases;
let queue: WriteQueue;
/** Called in each of LMDB's transactions before the queue does anything. */
let begins: () => void;
/** For each group: its draft is queued, it has the lock, and it puts entries itself. */
let order: ("queued" | "put" | "lock")[];

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "percolatordb-draft-"));
  databases = { ...openDatabases(path, options, new Openings(path, systemEnvironment)).databases };
  begins = () => undefined;
  order = [];
  const { cells, meta } = databases;
  Object.assign(databases, {
    cells: {
      ...cells,
      getBinaryFast: cells.getBinaryFast.bind(cells),
      getRange: cells.getRange.bind(cells),
      remove: cells.remove.bind(cells),
      put: (...args: Parameters<typeof cells.put>) => {
        order.push("put");
        return cells.put(...args);
      },
    },
    meta: {
      ...meta,
      getBinaryFast: meta.getBinaryFast.bind(meta),
      put: meta.put.bind(meta),
      remove: meta.remove.bind(meta),
      ifNoExists: (...args: Parameters<typeof meta.ifNoExists>) => {
        order.push("queued");
        return meta.ifNoExists(...args);
      },
    },
  });
  queue = new WriteQueue(databases, environment, path, undefined, undefined, {
    checkPlace: () => {
      if (databases.root.thread() === 0) return;
      order.push("lock");
      begins();
    },
  });
});

afterEach(async () => {
  await queue.idle();
  await databases.root.close();
  await rm(path, { recursive: true });
});

function ask(task: Task, signal?: AbortSignal, early = false): Promise<Answer> {
  const request = new Request(task, early, { signal }, environment);
  queue.push(request);
  return request.answered;
}

/** Writes the state as another process does that writes something. */
function writeElsewhere(): void {
  const { counter, group } = readState(databases);
  writeState(databases, { counter, writer: 7, group: group + 1 });
}

function write(row: string, value: Uint8Array, guards: readonly Guard[] = []): Task {
  const column = Buffer.from("c");
  const put = { type: "put", column, part: "write", timestamp: commitTimestamp, value } as const;
  return { type: "commit", batch: { rows: [{ table, row: Buffer.from(row), guards, mutations: [put] }] } };
}

const unwritten = (from: number): Guard => ({
  type: "absent",
  column: Buffer.from("c"),
  part: "write",
  from,
  to: Number.POSITIVE_INFINITY,
});

function all(): unknown {
  databases.root.resetReadTxn();
  return readRaw(databases, { table, columns: allColumns, parts }).rows;
}

const leftOver = () => {
  databases.root.resetReadTxn();
  return databases.meta.getBinaryFast(new Key().raw(Buffer.from("drop")));
};

describe("a draft", () => {
  it("is queued before its group has the lock, and later drafts build on it", async () => {
    const first = ask(write("a", Buffer.from("1"), [unwritten(0)]));
    const second = ask(write("a", Buffer.from("2"), [unwritten(0)]));
    const third = ask(write("a", Buffer.from("3"), [unwritten(2)]));
    expect(await first).toEqual({ answer: "applied", timestamp: 1 });
    expect(await second).toEqual({ answer: "rejected", row: 0, guard: 0 });
    expect(await third).toEqual({ answer: "applied", timestamp: 2 });
    // The binding does not queue the puts one by one: see `instructions.ts`.
    expect(order).toEqual(["queued", "lock"]);
  });

  it("is dropped if another process has written since, and its requests are checked again", async () => {
    begins = () => {
      begins = () => undefined;
      writeElsewhere();
      const { counter } = readState(databases);
      writeState(databases, { counter: counter + 10, writer: 7, group: 1 });
    };
    const asked = [ask(write("a", Buffer.from("1"))), ask(write("b", Buffer.alloc(100_000, "2")))];
    expect(await Promise.all(asked)).toEqual([
      { answer: "applied", timestamp: 11 },
      { answer: "applied", timestamp: 12 },
    ]);
    expect(order).toEqual(["queued", "lock", "put", "put"]);
    expect(all()).toHaveLength(2);
    expect(leftOver()).toBeUndefined();
    // The next group has the lock first, and after it drafts are right again.
    order = [];
    await ask(write("c", Buffer.from("3")));
    await ask(write("d", Buffer.from("4")));
    expect(order).toEqual(["lock", "put", "queued", "lock"]);
  });

  it("is dropped if another process has changed only cells since", async () => {
    begins = () => {
      begins = () => undefined;
      const column = Buffer.from("c");
      const value = Buffer.from("elsewhere");
      const put = { type: "put", column, part: "write", timestamp: 5, value } as const;
      const drafting = new Drafting(databases);
      const plan = new Plan(drafting, new GuardCache());
      plan.change({ table, row: Buffer.from("a"), guards: [], mutations: [put] }, 0);
      plan.write();
      drafting.make();
      writeElsewhere();
    };
    const asked = ask(write("a", Buffer.from("1"), [unwritten(0)]));
    expect(await asked).toEqual({ answer: "rejected", row: 0, guard: 0 });
    expect(order.slice(0, 2)).toEqual(["queued", "lock"]);
  });

  it("writes no request that was given up while its group waited for the lock", async () => {
    const giving = new AbortController();
    const given = ask(write("a", Buffer.from("1")), giving.signal);
    const kept = ask(write("b", Buffer.from("2")));
    while (!order.includes("queued")) await new Promise((resolve) => setImmediate(resolve));
    expect(order).not.toContain("lock");
    giving.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    expect(await kept).toMatchObject({ answer: "applied" });
    expect(all()).toMatchObject([{ row: Buffer.from("b") }]);
    expect(leftOver()).toBeUndefined();
  });
});

describe("what drafts have changed", () => {
  const at = (row: string) => new Key().cell(tablePrefix(table), Buffer.from(row), Buffer.from("c"));
  const draftOf = (drafting: Drafting, key: Key): Draft => {
    drafting.databases.protocol.put(key.part(0x10, 1), Buffer.from("a lock"));
    const draft = new Draft({ counter: 0, writer: 0, group: 0 });
    drafting.accept(draft);
    return draft;
  };

  it("is remembered for each draft, even if an earlier draft is forgotten late", () => {
    const drafting = new Drafting(databases);
    const start = at("a").part(0x10, 9);
    const end = at("a").partEnd(0x10);
    const locks = () => drafting.databases.protocol.getRange({ start, end });
    const dropped = draftOf(drafting, at("a"));
    drafting.clear();
    expect([...locks()]).toEqual([]);
    const pending = draftOf(drafting, at("a"));
    drafting.forget(dropped);
    expect(locks).toThrow(NotPlannableError);
    drafting.forget(pending);
    expect([...locks()]).toEqual([]);
  });

  it("is forgotten with all earlier drafts, since LMDB commits in order", () => {
    const drafting = new Drafting(databases);
    const put = (value: string) => {
      drafting.databases.cells.put(at("a"), Buffer.from(value));
      const draft = new Draft({ counter: 0, writer: 0, group: 0 });
      drafting.accept(draft);
      return draft;
    };
    const found = () => drafting.databases.cells.getBinaryFast(at("a"))?.toString();
    const [first, second] = [put("1"), put("2")];
    drafting.forget(second);
    expect(found()).toBeUndefined();
    put("3");
    drafting.forget(first);
    expect(found()).toBe("3");
  });

  it("is found by its whole key, even if another key has the same checksum", () => {
    const rows = new Map<number, string>();
    let pair: readonly [string, string] | undefined;
    for (let number = 0; pair === undefined; number++) {
      const row = `row ${number}`;
      const { sum } = at(row);
      const other = rows.get(sum);
      if (other !== undefined) pair = [other, row];
      rows.set(sum, row);
    }
    const drafting = new Drafting(databases);
    const [one, other] = pair.map(at) as [Key, Key];
    const put = (key: Key, value: string) => {
      drafting.databases.cells.put(key, Buffer.from(value));
      const draft = new Draft({ counter: 0, writer: 0, group: 0 });
      drafting.accept(draft);
      return draft;
    };
    const found = () => [one, other].map((key) => drafting.databases.cells.getBinaryFast(key)?.toString());
    const first = put(one, "1");
    expect(found()).toEqual(["1", undefined]);
    const second = put(other, "2");
    put(one, "3");
    expect(found()).toEqual(["3", "2"]);
    drafting.forget(first);
    drafting.forget(second);
    expect(found()).toEqual(["3", undefined]);
  });
});

describe("the answers and the stored versions are those of a store that does one request after another", () => {
  const timestamp = fc.integer({ min: 1, max: 6 });
  const column = fc.constantFrom("c", "d").map((name) => Buffer.from(name));
  const part = fc.constantFrom<Part>(...parts);
  const end = fc.oneof(timestamp, fc.constant(Number.POSITIVE_INFINITY));
  const value = fc
    .tuple(fc.constantFrom(0, 3, 150, 400, 1_200, 20_000), fc.nat(255))
    .map(([length, fill]) => Buffer.alloc(length, fill));
  const guard: fc.Arbitrary<Guard> = fc.oneof(
    fc.record({ type: fc.constant("absent" as const), column, part, from: timestamp, to: end }),
    fc.record({ type: fc.constant("present" as const), column, part, at: timestamp }),
  );
  const stamp = fc.oneof({ weight: 3, arbitrary: timestamp }, { weight: 1, arbitrary: fc.constant(-2) });
  const mutation: fc.Arbitrary<Mutation> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant("put" as const), column, part, timestamp, value }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant("delete" as const), column, part, from: timestamp, to: end }),
    },
  );
  const rowMutation: fc.Arbitrary<RowMutation> = fc.record({
    table: fc.constant(table),
    row: fc.constantFrom("a", "b").map((name) => Buffer.from(name)),
    guards: fc.array(guard, { maxLength: 2 }),
    mutations: fc.array(mutation, { minLength: 1, maxLength: 3 }),
  });
  /** What a one-phase commit writes: some cells under its guards, and a cell of the system. */
  const cellsOf = (row: string, names: readonly string[], from: number, value: Uint8Array): RowMutation => {
    const columns = names.map((name) => Buffer.from(name));
    return {
      table,
      row: Buffer.from(row),
      guards: columns.flatMap((column) => [
        { type: "absent", column, part: "lock", from: 0, to: Number.POSITIVE_INFINITY },
        { type: "absent", column, part: "write", from, to: Number.POSITIVE_INFINITY },
      ]),
      mutations: columns.map((column) => ({
        type: "put",
        column,
        part: "write",
        timestamp: commitTimestamp,
        value,
      })),
    };
  };
  const overwriting: fc.Arbitrary<Task> = fc
    .tuple(
      fc.constantFrom(["a"], ["b"], ["a", "b"], ["b", "a"], ["a", "a"]),
      fc.constantFrom(["c"], ["d"], ["c", "d"], ["d", "c"], ["c", "c"]),
      fc.constantFrom(0, 3, 50, 1_000),
      fc.tuple(fc.constantFrom(0, 3, 50, 150, 373, 374, 375, 1_024, 1_025, 16_384, 16_385), fc.nat(255)),
      fc.array(rowMutation, { maxLength: 1 }),
      fc.boolean(),
    )
    .map(([rows, names, from, [length, fill], others, isSystem]) => {
      const overwritten = rows.map((row) => cellsOf(row, names, from, Buffer.alloc(length, fill)));
      const more = others.map((each) => (isSystem ? { ...each, table: "~system" } : each));
      return { type: "commit", batch: { rows: [...overwritten, ...more] } };
    });

  /** A fill of rows between or around those of the other tasks. Here and there, one is in its way. */
  const filling: fc.Arbitrary<Task> = fc
    .record({
      rows: fc.uniqueArray(fc.constantFrom("0", "a", "aa", "ab", "b", "c", "d"), { minLength: 1 }),
      guards: fc.array(guard, { maxLength: 1 }),
      value,
    })
    .map(({ rows, guards, value: record }) => {
      const cells = new CellBlock(table, 5);
      for (const row of rows.sort()) {
        for (const name of ["c", "d"])
          cells.add(Buffer.from(row), Buffer.from(name), Buffer.from("h"), record);
      }
      return { type: "fill", batch: { guarded: { table, row: Buffer.from("a"), guards }, cells } };
    });

  const task: fc.Arbitrary<Task> = fc.oneof(
    { weight: 2, arbitrary: overwriting },
    rowMutation.map((mutation) => ({ type: "mutate" as const, mutation })),
    fc.tuple(rowMutation, rowMutation, stamp).map(([first, second, at]) => {
      const batch: AtomicBatch = { rows: [at < 0 ? committed(first) : first, second] };
      return { type: "commit" as const, batch };
    }),
    fc.constant({ type: "next" as const }),
    filling,
  );

  const burst = fc.record({
    tasks: fc.array(task, { minLength: 1, maxLength: 8 }),
    /** Whether the next burst waits for the answers. */
    isAwaited: fc.boolean(),
  });

  /** The same mutation, with its puts at the commit timestamp. */
  function committed(row: RowMutation): RowMutation {
    const mutations = row.mutations.map((each) =>
      each.type === "put" ? { ...each, timestamp: commitTimestamp } : each,
    );
    return { ...row, mutations };
  }

  /** The same cells in another table. */
  function moved(cells: CellBlock, name: string): CellBlock {
    const block = new CellBlock(name, cells.timestamp);
    const cursor = new CellCursor(cells);
    const bytes = (from: number, to: number) => cursor.buffer.subarray(from, to);
    while (cursor.next()) {
      const { rowStart, rowEnd, columnStart, columnEnd, recordStart, recordEnd } = cursor;
      block.add(
        bytes(rowStart, rowEnd),
        bytes(columnStart, columnEnd),
        Buffer.alloc(0),
        bytes(recordStart, recordEnd),
      );
    }
    return block;
  }

  async function one(store: RowStore, each: Task): Promise<Answer> {
    if (each.type === "mutate") return store.mutate(each.mutation);
    if (each.type === "fill") return store.atomic!.fill!(each.batch);
    return each.type === "next" ? store.atomic!.next() : store.atomic!.commit(each.batch);
  }

  it.each([
    { when: "", everyLocks: 0, early: false, byBinding: false },
    { when: ", answered before the flush", everyLocks: 0, early: true, byBinding: false },
    { when: " while another process writes now and then", everyLocks: 3, early: true, byBinding: false },
    { when: ", if the binding queues each change", everyLocks: 3, early: true, byBinding: true },
  ])("however they are grouped$when", async ({ everyLocks, early, byBinding }) => {
    if (byBinding) Object.assign(databases.cells, { db: undefined });
    let number = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(burst, { maxLength: 10 }), async (bursts) => {
        const name = `${table}${++number}`;
        const inTable = (row: RowMutation) => ({
          ...row,
          table: row.table === table ? name : `~${name}`,
        });
        const renamed = (each: Task): Task => {
          if (each.type === "next") return each;
          if (each.type === "mutate") return { ...each, mutation: { ...each.mutation, table: name } };
          if (each.type === "commit") return { ...each, batch: { rows: each.batch.rows.map(inTable) } };
          const { guarded, cells } = each.batch;
          return { ...each, batch: { guarded: { ...guarded, table: name }, cells: moved(cells, name) } };
        };
        let locks = 0;
        begins = () => {
          if (everyLocks > 0 && ++locks % everyLocks === 0) writeElsewhere();
        };
        databases.root.transactionSync(() => {
          writeState(databases, { counter: 0, writer: 7, group: readState(databases).group + 1 });
        });
        const model = memoryStore({ environment });
        const expected: Answer[] = [];
        for (const each of bursts.flatMap(({ tasks }) => tasks))
          expected.push(await one(model, renamed(each)));
        const answers: Promise<Answer>[] = [];
        for (const { tasks, isAwaited } of bursts) {
          for (const each of tasks) answers.push(ask(renamed(each), undefined, early));
          if (isAwaited) await Promise.all(answers);
          else await new Promise((resolve) => setImmediate(resolve));
        }
        expect(await Promise.all(answers)).toEqual(expected);
        databases.root.resetReadTxn();
        for (const each of [name, `~${name}`]) {
          const read = { table: each, columns: allColumns, parts };
          expect(readRaw(databases, read)).toEqual(await model.readRaw(read));
        }
      }),
      { numRuns: 10 },
    );
  });
});
