import { postgresStore } from "percolatordb/postgres";
import type { AtomicBatch, CommitCompany, RowStore } from "percolatordb/store";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { systemEnvironment } from "../../src/environment/index.js";
import { commitTimestamp } from "../../src/store/index.js";
import { newPlace, removePlace } from "../support/postgres/index.js";
import { until } from "../support/waiting.js";

/*
 * A commit for which nobody waits alone, such as that of an observer's run, waits a moment for others
 * that are expected. Each group costs a flush, which all programs of the server wait for.
 */

/** The timers of some milliseconds that were set, which only the test lets fire. */
let timers: (() => void)[] = [];
const environment = {
  ...systemEnvironment,
  setTimer: (callback: () => void, delayMs: number, options?: { background?: boolean }) => {
    if (delayMs > 5) return systemEnvironment.setTimer(callback, delayMs, options);
    timers.push(callback);
    const cancel = () => {
      timers = timers.filter((each) => each !== callback);
    };
    return { cancel };
  },
};

let place: Awaited<ReturnType<typeof newPlace>>;
let store: RowStore;
beforeAll(async () => {
  place = await newPlace();
  store = await postgresStore({
    connection: { host: place.host, user: "postgres", database: "postgres" },
    schema: place.schema,
    environment,
  });
  await store.prepare(["t"]);
});
afterAll(async () => {
  await store?.close();
  await removePlace(place);
});
beforeEach(() => {
  timers = [];
});

const column = Buffer.from("column");
const batch = (row: string): AtomicBatch => ({
  rows: [
    {
      table: "t",
      row: Buffer.from(row),
      guards: [],
      mutations: [{ type: "put", column, part: "write", timestamp: commitTimestamp, value: column }],
    },
  ],
});

const groups = async () => (await store.statistics()).groups!;

/** Commits with company until it waits for others. */
async function waiting(row: string, company: CommitCompany) {
  const answer = store.atomic!.commit(batch(row), { company });
  await until(() => timers.length === 1);
  return { answer };
}

test("commits that are expected share a group, which goes when the last has come", async () => {
  const before = await groups();
  const company = { expected: 2 };
  const first = await waiting("a", company);
  company.expected = 1;
  const second = store.atomic!.commit(batch("b"), { company });
  company.expected = 0;
  const third = store.atomic!.commit(batch("c"), { company });
  const answers = await Promise.all([first.answer, second, third]);
  expect(answers.map(({ answer }) => answer)).toEqual(["applied", "applied", "applied"]);
  expect((await groups()) - before).toBe(1);
  expect(timers).toEqual([]);
});

test("a commit that somebody waits for goes at once, and takes along what waits", async () => {
  const before = await groups();
  const first = await waiting("d", { expected: 1 });
  const answers = await Promise.all([first.answer, store.atomic!.commit(batch("e"))]);
  expect(answers.map(({ answer }) => answer)).toEqual(["applied", "applied"]);
  expect((await groups()) - before).toBe(1);
});

test("what is expected and does not come is waited for only for a while", async () => {
  const { answer } = await waiting("f", { expected: 1 });
  timers[0]!();
  expect((await answer).answer).toBe("applied");
});

test("a commit of which no others are expected does not wait", async () => {
  const { answer } = await store.atomic!.commit(batch("g"), { company: { expected: 0 } });
  expect(answer).toBe("applied");
});

test("a group that is large enough does not wait", async () => {
  const company = { expected: 1_000 };
  const first = await waiting("0", company);
  const others = Array.from({ length: 127 }, (_, index) =>
    store.atomic!.commit(batch(String(index + 1)), { company }),
  );
  const answers = await Promise.all([first.answer, ...others]);
  expect(new Set(answers.map(({ answer }) => answer))).toEqual(new Set(["applied"]));
});

test("one that is aborted while it waits is never sent, and the others go", async () => {
  const company = { expected: 1 };
  const controller = new AbortController();
  const aborted = store.atomic!.commit(batch("h"), { company, signal: controller.signal });
  await until(() => timers.length === 1);
  const { length: counted } = await rows();
  controller.abort();
  await expect(aborted).rejects.toThrow("aborted");
  company.expected = 0;
  expect((await store.atomic!.commit(batch("i"), { company })).answer).toBe("applied");
  expect((await rows()).length).toBe(counted + 1);
});

async function rows() {
  const columns = [{ exact: column }];
  return (await store.readRaw({ table: "t", columns, parts: ["write"], limit: 1_000 })).rows;
}
