import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Database } from "../../database/index.js";
import { observer } from "../../observer/index.js";
import { int, table, text } from "../../schema/index.js";
import type { StoreCapabilities } from "../../store/index.js";
import { faultKinds } from "./plan/fault.js";
import type { SimulatedClient, Workload } from "./process/client.js";
import { showFailure } from "./show-failure.js";
import { simulate } from "./simulate.js";

const counters = table("counters", { value: int(), note: text() });
const doubles = table("doubles", { value: int() });

const double = observer("double", counters.value, (tx, { row, value }) => {
  if (value !== undefined) tx.set(doubles.value, row, 2 * value);
});

const add = (db: Database, row: string) =>
  db.transact(async (tx) => tx.set(counters.value, row, ((await tx.get(counters.value, row)) ?? 0) + 1), {
    retries: 3,
    timeoutMs: 3_000,
  });

async function expectDoubles(db: Database): Promise<void> {
  await using snapshot = await db.snapshot();
  for await (const { row, value } of snapshot.scan(counters.value)) {
    const doubled = await snapshot.get(doubles.value, row);
    if (doubled !== 2 * value) throw new Error(`The double of ${value} is ${doubled}.`);
  }
}

const counting: Workload = {
  tables: [counters, doubles],
  observers: [double],
  clients: [0, 1].map(() => async ({ db, step, sleep }) => {
    for (let number = 1; number <= 5; number++) {
      await step(`add ${number}`, (random) => add(db, random.pick(["a", "b"])));
      await sleep(5);
    }
  }),
  check: expectDoubles,
};

test("a user's own tables, observers and clients are correct under all faults", async () => {
  const { counts, failure } = await simulate({ ...counting, runs: 40 });
  expect(failure && showFailure(failure)).toBeUndefined();
  expect(counts.runs).toBe(40);
  expect(counts.observerRuns).toBeGreaterThan(40);
});

test("a process that is too old for the database opens the tables that it asked for, with the newest observers", async () => {
  const notes = table("notes", { text: text() });
  const doubleAgain = observer("double", counters.value, double.run, { version: 2 });
  const { counts, failure } = await simulate({
    ...counting,
    laterObservers: [doubleAgain],
    clients: [
      async ({ open, step }) => {
        await step("deploy", () => open({ observers: [doubleAgain] }));
        await step("note", async () => {
          const another = await open({ tables: [counters, doubles, notes] });
          const { tables } = await another.schema();
          if (!tables.some(({ name }) => name === "notes")) throw new Error("It did not open the table.");
        });
      },
    ],
    faults: [],
    runs: 2,
  });
  expect(failure && showFailure(failure)).toBeUndefined();
  expect(counts.steps).toBe(4);
});

test("the seed determines the events, and the position of a run among others does not matter", async () => {
  const first = await simulate({ ...counting, runs: 6, seed: "x" });
  const again = await simulate({ ...counting, runs: 6, seed: "x" });
  expect(again).toEqual(first);
  const other = await simulate({ ...counting, runs: 6, seed: "y" });
  expect(other.hash).not.toBe(first.hash);
});

test("only the requested faults happen", async () => {
  const { counts } = await simulate({ ...counting, runs: 20, faults: ["lostAnswer", "pause"] });
  for (const kind of faultKinds) {
    if (kind === "lostAnswer" || kind === "pause") expect(counts.faults[kind], kind).toBeGreaterThan(0);
    else expect(counts.faults[kind], kind).toBe(0);
  }
});

test("only the requested stores are used", async () => {
  const { counts } = await simulate({ ...counting, runs: 5, stores: ["elected"] });
  expect(counts.stores).toEqual({ elected: 5 });
});

test("a server is remote and has atomic batches, as PostgreSQL is", async () => {
  const found: StoreCapabilities[] = [];
  const look = async ({ db }: SimulatedClient) => void found.push(db.openedStore.capabilities);
  await simulate({ clients: [look], runs: 1, stores: ["server"], faults: [] });
  expect(found).toMatchObject([{ remote: true, atomicBatches: true }]);
});

test("runs over LMDB: real folders, removed afterwards, and the same events for the same seed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "simulate-test-"));
  vi.stubEnv("TMPDIR", folder);
  try {
    const play = () => simulate({ ...counting, runs: 3, stores: ["lmdb"] });
    const left: number[] = [];
    const first = await simulate({
      ...counting,
      runs: 3,
      stores: ["lmdb"],
      check: async (db) => {
        left.push((await readdir(folder)).length);
        await expectDoubles(db);
      },
    });
    expect(first.failure && showFailure(first.failure)).toBeUndefined();
    expect(first.counts.stores).toEqual({ lmdb: 3 });
    expect(first.counts.observerRuns).toBeGreaterThan(0);
    expect(new Set(left)).toEqual(new Set([1]));
    expect(await readdir(folder)).toEqual([]);
    const { hash, counts } = await play();
    expect((await play()).hash).toBe(hash);
    expect((await play()).counts).toEqual(counts);
  } finally {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);

/** Reads in one transaction and writes in another. */
const losesUpdates: Workload = {
  tables: [counters],
  clients: [0, 1].map(() => async ({ db, step }) => {
    await step("read a note", () => db.transact((tx) => tx.get(counters.note, "unimportant")));
    await step("add", async () => {
      const before = (await db.transact((tx) => tx.get(counters.value, "a"))) ?? 0;
      await db.transact((tx) => {
        tx.set(counters.value, "a", before + 1);
        tx.set(counters.note, "a", `${before + 1}`);
      });
    });
  }),
  check: async (db) => {
    await using snapshot = await db.snapshot();
    const value = await snapshot.get(counters.value, "a");
    if (value !== 2) throw new Error(`Two have added one, and the sum is ${value}.`);
  },
};

test("an error in a program is found, its run is shortened, and shown with the events", async () => {
  const { failure } = await simulate({ ...losesUpdates, runs: 50, faults: [] });
  expect(failure?.message).toContain("Two have added one, and the sum is 1.");
  const { steps, incidents, faults, trace } = failure!.shortened!;
  // At most the two "add" steps are left. One of them is enough for the failure, because the sum is
  // then 1 as well.
  expect(steps.length).toBeLessThanOrEqual(2);
  expect(steps.join()).not.toContain("read a note");
  expect([...incidents, ...faults]).toEqual([]);
  expect(trace.join("\n")).toContain('begins "add"');
  expect(trace.at(-1)).toContain("FAILURE");
  expect(showFailure(failure!)).toContain(`Run ${failure!.run} of seed "1" failed.`);
});

test("a failing run fails in the same way when it is played alone", async () => {
  const { failure } = await simulate({ ...losesUpdates, runs: 50, faults: [], shortening: 0 });
  expect(failure?.shortened).toBeUndefined();
  const { run, message } = failure!;
  const again = await simulate({ ...losesUpdates, runs: 1, firstRun: run, faults: [], shortening: 0 });
  expect(again.failure).toEqual({ seed: "1", run, message, shortened: undefined });
});

test("a failure that a variable outside of the run causes is shown as such", async () => {
  let checks = 0;
  const once = () => {
    if (++checks === 2) throw new Error("Only the second check fails.");
  };
  const { failure } = await simulate({ ...counting, runs: 3, faults: [], check: async () => once() });
  expect(failure).toMatchObject({ run: 1, repeats: false, shortened: undefined });
  expect(showFailure(failure!)).toMatch(/second check fails.*without a failure.*{ workload: \(\) => /s);

  let calls = 0;
  const { failure: other } = await simulate({
    tables: [counters],
    clients: [({ db, step }) => step("add", () => db.transact((tx) => tx.set(counters.value, "a", ++calls)))],
    check: async () => {
      throw new Error(`${calls} calls`);
    },
    runs: 1,
    faults: [],
  });
  expect(other).toMatchObject({ repeats: false, shortened: { steps: [] } });
  expect(showFailure(other!)).toMatch(/it ended otherwise.*The shortest run/s);

  const { failure: right } = await simulate({ ...losesUpdates, runs: 50, faults: [] });
  expect(right!.repeats).toBe(true);
  expect(showFailure(right!)).not.toContain("played again");
});

const never = () => new Promise<void>(() => {});

test.each<[how: string, program: Workload["clients"][number], message: string]>([
  ["waits for an event that never comes", never, "(P1: between steps) did not end"],
  ["has a step that never settles", ({ step }) => step("hang", never), "(P1: hang) did not end"],
  [
    "has another step whenever one ends",
    async ({ db, step }) => {
      for (;;) await step("add", () => add(db, "a"));
    },
    'P1 did not end, although 10000 steps and sleeps were left out. The last was step "add".',
  ],
  [
    "sleeps again and again",
    async ({ sleep }) => {
      for (;;) await sleep(1_000);
    },
    "P1 did not end, although 10000 steps and sleeps were left out. The last was sleep.",
  ],
])("a client that %s is found, by name", async (_, program, message) => {
  const run = { tables: [counters], clients: [program], runs: 1, shortening: 0, faults: [] };
  const { failure } = await simulate(run);
  expect(failure?.message).toContain(message);
});

test("a client that never ends is found", async () => {
  const endless: Workload = {
    clients: [
      async ({ environment }) => {
        for (;;) await new Promise<void>((resolve) => environment.setTimer(resolve, 1_000));
      },
    ],
  };
  const { failure } = await simulate({ ...endless, runs: 1, shortening: 0, faults: [] });
  expect(failure?.message).toContain("did not end");
});

test("an error of a step without a fault that explains it is a failure; with such a fault it is not", async () => {
  const clients = [
    async ({ step }: Parameters<Workload["clients"][number]>[0]) => {
      await step("go wrong", () => {
        throw new TypeError("There is a mistake.");
      });
    },
  ];
  const { failure } = await simulate({ clients, runs: 5, shortening: 0, faults: [] });
  expect(failure?.message).toContain("P1: go wrong failed: TypeError: There is a mistake.");
});

test("invalid options are refused", async () => {
  await expect(simulate({ ...counting, runs: -1 })).rejects.toThrow("`runs`");
  const misspelt: object = { run: 5 };
  await expect(simulate({ ...counting, ...misspelt })).rejects.toThrow("`simulate` has no option `run`");
  const unchecked = { clients: counting.clients, checks: expectDoubles };
  const workload = () => unchecked;
  for (const given of [unchecked, { workload }])
    await expect(simulate({ ...given, runs: 1 })).rejects.toThrow("has no option `checks`");
  await expect(simulate({ ...counting, length: 0 })).rejects.toThrow("`length`");
  await expect(simulate({ ...counting, stores: [] })).rejects.toThrow("`stores`");
  await expect(simulate({ ...counting, faults: ["rain" as "slow"] })).rejects.toThrow('"rain"');
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(simulate({ ...counting, signal })).rejects.toThrow();
});

test("a simulation that is aborted does not go on to shorten a failure", async () => {
  const abort = new AbortController();
  let played = 0;
  const { failure } = await simulate({
    tables: [counters],
    runs: 1,
    stores: ["one-phase"],
    signal: abort.signal,
    onRun: () => abort.abort(),
    clients: [0, 1].map(() => async ({ db, step }) => {
      for (let number = 0; number < 20; number++) await step(`add ${number}`, () => add(db, "a"));
    }),
    check: async () => {
      played++;
      throw new Error("always wrong");
    },
  });
  expect(failure?.message).toContain("always wrong");
  // The run itself, its repetition, and the one whose trace is shown.
  expect(played).toBeLessThanOrEqual(3);
});
