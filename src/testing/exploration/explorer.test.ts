import { describe, expect, test } from "vitest";
import type { Database } from "../../database/index.js";
import { TimeoutError } from "../../errors/index.js";
import { observer } from "../../observer/index.js";
import { int, table } from "../../schema/index.js";
import { type ExploreReport, explore, type Program, replay } from "./index.js";

const cells = table("cells", { value: int(), double: int() });

const increment = (db: Database, retries = 0) =>
  db.transact(async (tx) => tx.set(cells.value, "a", ((await tx.get(cells.value, "a")) ?? 0) + 1), {
    retries,
  });

const doubles = observer("double", cells.value, (tx, { row, value }) => {
  tx.set(cells.double, row, (value ?? 0) * 2);
});

const never = () => new Promise<never>(() => {});

const twoIncrements: Program = {
  name: "two increments",
  tables: [cells],
  commit: "two-phase",
  clients: { A: ({ db }) => increment(db), B: ({ db }) => increment(db) },
};

const observed: Program = {
  name: "a writer and a worker",
  tables: [cells],
  observers: [doubles],
  clients: { writer: ({ db }) => increment(db), worker: (client) => client.work() },
  faults: { stops: 1, lostAnswers: 1 },
};

/** Two clients that read in one transaction and write a result in another. */
const racing: Program = {
  name: "increments in two transactions",
  tables: [cells],
  clients: Object.fromEntries(
    ["A", "B"].map((name) => [
      name,
      async ({ db }) => {
        const value = (await db.transact((tx) => tx.get(cells.value, "a"))) ?? 0;
        await db.transact((tx) => tx.set(cells.value, "a", value + 1), { retries: 3 });
      },
    ]),
  ),
  healed: async (db) => {
    const value = await db.transact((tx) => tx.get(cells.value, "a"));
    if (value !== 2) throw new Error(`the counter is ${value}`);
  },
};

const figures = ({ states, ends, violation }: ExploreReport) => ({ states, ends, violation });

describe("explore", () => {
  test("explores everything, and reports how much that was", async () => {
    const report = await explore(twoIncrements);
    expect(report).toMatchObject({ program: "two increments", complete: true, violation: undefined });
    expect(report.states).toBeGreaterThan(100);
    expect(report.ends).toBeGreaterThan(1);
    expect(await explore(twoIncrements)).toEqual(report);
  });

  const repeated: Program = {
    ...twoIncrements,
    name: "an increment, and a reader",
    clients: { A: ({ db }) => increment(db), B: ({ db }) => db.transact((tx) => tx.get(cells.value, "a")) },
    faults: { repeats: 1 },
  };

  test.each([twoIncrements, observed, repeated])(
    "reaches the same states and ends as without skipping equivalent orders: $name",
    async (program) => {
      const reduced = await explore(program);
      const every = await explore(program, { everyOrder: true });
      expect(figures(reduced)).toEqual(figures(every));
      expect(reduced.transitions).toBeLessThan(every.transitions);
    },
  );

  test("reaches the same states breadth first", async () => {
    const depthFirst = await explore(observed);
    const breadthFirst = await explore(observed, { order: "breadth-first" });
    expect(figures(breadthFirst)).toEqual(figures(depthFirst));
  });

  test("finds a race in a program, shows it, and reproduces it", async () => {
    const { violation, complete } = await explore(racing, { order: "breadth-first" });
    expect(complete).toBe(false);
    expect(violation?.message).toContain("the counter is 1");
    expect(violation?.trace.join("\n")).toMatch(/A: batch .* -> applied at \d+/);
    const again = await replay(racing, violation!.steps);
    expect(again).toEqual({ message: expect.stringContaining("the counter is 1"), trace: violation!.trace });
  });

  test("finds no shorter trace breadth first than the one it shows", async () => {
    const { violation: long } = await explore(racing);
    const { violation: short } = await explore(racing, { order: "breadth-first" });
    expect(short!.steps.length).toBeLessThanOrEqual(long!.steps.length);
  });

  test("a client that throws, and one that waits forever, are violations", async () => {
    const throwing: Program = {
      ...twoIncrements,
      clients: { A: ({ db }) => increment(db).then(() => Promise.reject(new Error("no good"))) },
    };
    expect((await explore(throwing)).violation?.message).toContain("no good");
    const waiting: Program = { ...twoIncrements, clients: { ...twoIncrements.clients, A: never } };
    const { violation } = await explore(waiting);
    expect(violation?.message).toContain('(A) of the program "two increments" never settles');
    expect(await replay(waiting, violation!.steps)).toMatchObject({ message: violation!.message });
  });

  test.each<[step: string, Partial<Program>]>([
    ["`healed`", { healed: never }],
    ["A run of an observer", { observers: [observer("never", cells.value, never)] }],
  ])("%s that never settles is a violation", async (step, given) => {
    const { violation } = await explore({ ...twoIncrements, ...given });
    expect(violation?.message).toContain(`${step} of the program "two increments" never settles`);
  });

  test("a setup that never settles is refused, also if it waits again and again", async () => {
    const fails = observer("fails", cells.value, () => Promise.reject(new Error("no good")));
    const drains: Program["setup"] = (db) => increment(db).then(() => db.drain());
    for (const given of [{ setup: never }, { setup: drains, observers: [fails] }]) {
      const exploring = explore({ ...twoIncrements, ...given });
      await expect(exploring).rejects.toThrow('`setup` of the program "two increments" never settles');
      await expect(exploring).rejects.toThrow(TimeoutError);
    }
  });

  test("every fault of a budget is tried, and none without a budget", async () => {
    const without = await explore(twoIncrements);
    for (const fault of ["lostAnswers", "repeats", "stops", "wrongGuesses", "timers"] as const) {
      const faulty = await explore({ ...twoIncrements, faults: { [fault]: 1 } }, { maxStates: 500 });
      expect(faulty.violation).toBeUndefined();
      expect(faulty.states).toBeGreaterThan(without.states);
    }
  });

  test("a limit that is no number is refused: nothing would reach it, or no fault would happen", async () => {
    await expect(explore(twoIncrements, { maxSteps: Number.NaN })).rejects.toThrow("`maxSteps` must be");
    await expect(explore(twoIncrements, { maxStates: -1 })).rejects.toThrow("`maxStates` must be");
    const faulty = { ...twoIncrements, faults: { stops: Number.NaN } };
    await expect(explore(faulty)).rejects.toThrow("`stops` must be");
    await expect(replay(faulty, [])).rejects.toThrow("`stops` must be");
  });

  test("a misspelt name in a program, its faults or the options is refused", async () => {
    const misspelt = { ...twoIncrements, check: async () => {} };
    await expect(explore(misspelt)).rejects.toThrow("`explore` has no option `check`");
    await expect(replay(misspelt, [])).rejects.toThrow("`replay` has no option `check`");
    const faults: object = { lostAnswer: 1 };
    await expect(explore({ ...twoIncrements, faults })).rejects.toThrow("has no option `lostAnswer`");
    const options: object = { maxstates: 5 };
    await expect(explore(twoIncrements, options)).rejects.toThrow("`explore` has no option `maxstates`");
  });

  test("stops at a number of states, and when its signal is aborted", async () => {
    expect(await explore(twoIncrements, { maxStates: 50 })).toMatchObject({ states: 50, complete: false });
    const signal = AbortSignal.abort(new Error("enough"));
    const long: Program = { ...twoIncrements, faults: { lostAnswers: 1, stops: 1, repeats: 1 } };
    await expect(explore(long, { signal })).rejects.toThrow("aborted by its signal");
  });

  test("without atomic batches a separate oracle gives the timestamps", async () => {
    const report = await explore({ ...twoIncrements, atomicBatches: false });
    expect(report).toMatchObject({ complete: true, violation: undefined });
  });
});

describe("what clients recorded", () => {
  /** The reader reads both cells in transactions of their own, so it can miss the first of them. */
  const reader = (healed: Program["healed"]): Program => ({
    name: "a reader of two cells in two transactions",
    tables: [cells],
    clients: {
      writer: async ({ db }) => {
        await db.transact((tx) => tx.set(cells.value, "a", 1));
        await db.transact((tx) => tx.set(cells.value, "b", 1));
      },
      reader: async ({ db, shared }) => {
        const a = await db.transact((tx) => tx.get(cells.value, "a"));
        const b = await db.transact((tx) => tx.get(cells.value, "b"));
        shared.set("read", { a, b });
      },
    },
    healed,
  });

  test("is checked in every interleaving, although the store is the same", async () => {
    const seen = new Set<string>();
    const report = await explore(
      reader(async (_db, _work, shared) => void seen.add(JSON.stringify(shared.get("read")))),
    );
    expect(report).toMatchObject({ complete: true, violation: undefined });
    expect([...seen].sort()).toEqual(['{"a":1,"b":1}', '{"a":1}', '{"b":1}', "{}"]);
  });

  test("is part of the state", async () => {
    const recorded = new Set<unknown>();
    const { violation } = await explore({
      name: "clients that record which of them ended last, and read nothing",
      tables: [cells],
      clients: Object.fromEntries(
        ["A", "B"].map((name) => [
          name,
          async ({ db, shared }) => {
            await db.transact((tx) => tx.set(cells.value, "a", 1), { retries: 3 });
            shared.set("last", name);
          },
        ]),
      ),
      healed: async (_db, _work, shared) => void recorded.add(shared.get("last")),
    });
    expect(violation).toBeUndefined();
    expect(recorded).toEqual(new Set(["A", "B"]));
  });
});

test("a client can return a bigint", async () => {
  const report = await explore({ name: "a bigint", tables: [cells], clients: { A: async () => 5n } });
  expect(report).toMatchObject({ complete: true, violation: undefined });
});

test("an exploration that is aborted ends at once", async () => {
  const abort = new AbortController();
  let begun = 0;
  const client: Program["clients"][string] = ({ db }) => {
    if (++begun === 3) abort.abort();
    return increment(db);
  };
  const program: Program = { ...twoIncrements, clients: { A: client, B: client } };
  await expect(explore(program, { signal: abort.signal })).rejects.toThrow("Exploring");
  expect(begun).toBeLessThan(6);
  await expect(explore(program, { signal: AbortSignal.abort() })).rejects.toThrow("Exploring");
});
