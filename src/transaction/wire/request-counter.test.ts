import { expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { Metrics } from "../../events/index.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { transact } from "../transact.js";
import { joinMutations } from "./joined-mutations.js";
import { countRequests, countTimestamps } from "./request-counter.js";

const accounts = table("accounts", { balance: int() });

test("each request to a distant store and its oracle is counted by its kind", async () => {
  const bare = distantContext(new DistantTestStore());
  const metrics = new Metrics(bare.events);
  const store = joinMutations(countRequests(bare.store, bare.events), bare.events);
  const context = { ...bare, store, oracle: countTimestamps(bare.oracle, bare.events) };
  for (let round = 0; round < 2; round++) {
    await transact(context, async (tx) => {
      const balances = await tx.getMany(accounts.balance, ["a", "b", "c"]);
      for (const row of ["a", "b"]) tx.set(accounts.balance, row, balances.length);
      for await (const _ of tx.scan(accounts.balance)) break;
    });
    await context.background.settled();
  }
  const { requests } = metrics.snapshot();
  // Other contexts cache the safepoint for a while. This one reads it each time.
  expect(requests.read).toBeGreaterThanOrEqual(6);
  expect(requests).toMatchObject({ scan: 2, conditionalMutation: 8, plainMutation: 0, timestamp: 4 });
  expect(requests.total).toBe(requests.read + 14);
  expect(requests.perTransaction).toBe(requests.total / 2);
});

test("a store in this process is not wrapped, and a remote one is", () => {
  const { events } = distantContext(new DistantTestStore());
  const store = memoryStore();
  const remote = Object.assign(memoryStore(), { capabilities: { ...store.capabilities, remote: true } });
  expect(joinMutations(countRequests(store, events), events)).toBe(store);
  for (const [between, under] of [
    [countRequests(remote, events), remote],
    [joinMutations(remote, events), remote],
  ] as const) {
    expect(between).not.toBe(under);
    expect(between.atomic).toBe(under.atomic);
  }
});

test("counted requests are passed on unchanged, including their signals", async () => {
  const { signal } = new AbortController();
  const asked: unknown[] = [];
  const note =
    (name: string) =>
    (...args: readonly unknown[]) => {
      asked.push([name, ...args]);
      return Promise.resolve([]);
    };
  const names = [
    "prepare",
    "readRow",
    "readRange",
    "readRaw",
    "mutate",
    "splitPoints",
    "statistics",
  ] as const;
  const rest = ["verify", "clearDead", "close"] as const;
  const bare = memoryStore({ atomicBatches: false });
  const store = Object.assign(
    bare,
    Object.fromEntries([...names, ...rest].map((name) => [name, note(name)])),
  );
  const { events } = distantContext(new DistantTestStore());
  const counted = joinMutations(countRequests(store, events), events);
  const request = { table: "t", row: Buffer.from("r"), columns: [], guards: [], mutations: [], at: 1 };
  for (const name of [...names, ...rest]) {
    await (counted as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[name]!(request, {
      signal,
    });
  }
  const withOptions = new Set(["readRow", "readRange", "readRaw", "mutate", "verify", "clearDead"]);
  expect(asked).toEqual(
    [...names, ...rest].map((name) => {
      if (withOptions.has(name)) return [name, request, { signal }];
      if (name === "prepare") return [name, request];
      return name === "splitPoints" ? [name, request, { signal }] : [name];
    }),
  );
});
