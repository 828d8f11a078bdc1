import { beforeEach, describe, expect, test } from "vitest";
import { bareContext } from "../../test/support/context.js";
import type { Environment } from "../environment/index.js";
import { StoreError, TimeoutError } from "../errors/index.js";
import { int, table } from "../schema/index.js";
import type { MutationAnswer, RowStore } from "../store/index.js";
import { memoryStore } from "../store/memory/index.js";
import { requestLost, StepHooks } from "../testing/index.js";
import type { TransactionContext } from "./context.js";
import { check } from "./maintenance/check.js";
import { Snapshot } from "./read/snapshot.js";
import { transact } from "./transact.js";

const accounts = table("accounts", { balance: int() });

/**
 * A store that can be made unavailable. Then every read fails as in an outage, and every mutation
 * answers `unknown`, whether it was applied or not.
 */
class OutageStore {
  isAway = false;
  /** Requests that it did not answer. */
  unanswered = 0;
  /** Called for each request that it did not answer. */
  onUnanswered: () => void = () => {};
  readonly store: RowStore;

  constructor(store = memoryStore()) {
    this.store = {
      description: store.description,
      capabilities: store.capabilities,
      atomic: store.atomic,
      prepare: (tables) => store.prepare(tables),
      readRow: async (read) => this.#read(() => store.readRow(read)),
      readRange: async (read) => this.#read(() => store.readRange(read)),
      readRaw: async (read) => this.#read(() => store.readRaw(read)),
      mutate: async (mutation): Promise<MutationAnswer> => {
        if (!this.isAway) return await store.mutate(mutation);
        this.#note();
        return "unknown";
      },
      splitPoints: (name, most) => store.splitPoints(name, most),
      statistics: () => store.statistics(),
      close: () => store.close(),
    };
  }

  #note(): void {
    this.unanswered++;
    this.onUnanswered();
  }

  #read<T>(read: () => T): T {
    if (!this.isAway) return read();
    this.#note();
    throw new StoreError("The store is away.", { retryable: true });
  }
}

let hooks: StepHooks;
let outage: OutageStore;
let context: TransactionContext;

beforeEach(() => {
  hooks = new StepHooks();
  outage = new OutageStore();
  const bare = bareContext(outage.store, { commit: "two-phase" }, hooks);
  // Waits take no time here, except for deadlines.
  const setTimer: Environment["setTimer"] = (run, ms, options) =>
    bare.environment.setTimer(run, ms > 60_000 ? ms : Math.min(ms, 1), options);
  context = { ...bare, environment: { ...bare.environment, setTimer } };
});

const increment = (options = {}) =>
  transact(
    context,
    async (tx) => tx.set(accounts.balance, "alice", ((await tx.get(accounts.balance, "alice")) ?? 0) + 1),
    options,
  );

async function balance(): Promise<number | undefined> {
  await using snapshot = new Snapshot(context, await context.oracle.next());
  return await snapshot.get(accounts.balance, "alice");
}

/** Makes the store unavailable for this many requests. */
function away(requests: number): void {
  outage.isAway = true;
  const end = outage.unanswered + requests;
  outage.onUnanswered = () => {
    outage.isAway = outage.unanswered < end;
  };
}

describe("while the store is unavailable", () => {
  test("a transaction is retried until the store is back", async () => {
    away(50);
    await increment();
    expect(await balance()).toBe(1);
  });

  test("`retries` limits the attempts", async () => {
    away(1_000);
    await expect(increment({ retries: 3 })).rejects.toMatchObject({ code: "STORE", retryable: true });
    expect(outage.unanswered).toBe(4);
  });

  test.each([{ timeoutMs: 3_600_000 }, { signal: new AbortController().signal }])(
    "a transaction with %j continues, however often it failed",
    async (options) => {
      away(500);
      await increment(options);
      expect(await balance()).toBe(1);
    },
  );

  test("its deadline ends it", async () => {
    outage.isAway = true;
    const controller = new AbortController();
    outage.onUnanswered = () => {
      if (outage.unanswered === 150) controller.abort(new TimeoutError("now"));
    };
    await expect(increment({ signal: controller.signal })).rejects.toMatchObject({ code: "TIMEOUT" });
    expect(outage.unanswered).toBe(150);
  });

  test.each([1, 3, 40])(
    "a commit that was applied before is reported as committed, after %i requests",
    async (requests) => {
      hooks.once("commit-primary", async (run) => {
        await run();
        away(requests);
        return "unknown";
      });
      await increment({ retries: 0 });
      expect(await balance()).toBe(1);
      expect(hooks.count("commit-primary")).toBe(1);
    },
  );

  test.each([1, 3, 40])(
    "a commit that was lost is retried, and is not a conflict, after %i requests",
    async (requests) => {
      const conflicts: unknown[] = [];
      context.events.on("conflict", (event) => conflicts.push(event));
      hooks.once("commit-primary", async () => {
        away(requests);
        return "unknown";
      });
      await increment();
      expect(await balance()).toBe(1);
      expect(conflicts).toEqual([]);
    },
  );

  test("a commit that cannot be checked before its deadline has an unknown outcome, and is not retried", async () => {
    const controller = new AbortController();
    hooks.once("commit-primary", async (run) => {
      await run();
      outage.isAway = true;
      outage.onUnanswered = () => {
        if (outage.unanswered === 20) controller.abort(new TimeoutError("now"));
      };
      return "unknown";
    });
    await expect(increment({ signal: controller.signal })).rejects.toMatchObject({
      code: "COMMIT_OUTCOME_UNKNOWN",
      cause: { code: "STORE" },
    });
    outage.isAway = false;
    expect(await balance()).toBe(1);
    expect(hooks.count("commit-primary")).toBe(1);
  });

  test("a commit whose deadline passes while it is sent waits shortly for its outcome, and no longer", async () => {
    const controller = new AbortController();
    hooks.once("commit-primary", async () => {
      controller.abort(new TimeoutError("now"));
      return "unknown";
    });
    hooks.once("rollback-primary", () => new Promise(() => {}));
    await expect(increment({ signal: controller.signal })).rejects.toMatchObject({
      code: "COMMIT_OUTCOME_UNKNOWN",
      cause: { code: "TIMEOUT" },
    });
  });

  test.each(["prewrite", "hints", "commit-primary"] as const)(
    "a transaction that %s without an answer leaves no lock when the store is back",
    async (step) => {
      let lost = 0;
      const lose = async (...args: Parameters<typeof requestLost>) => {
        if (lost++ === 0) away(5);
        return requestLost(...args);
      };
      for (let count = 0; count < 7; count++) hooks.once(step, lose);
      await increment();
      await context.background.settled();
      expect(await balance()).toBe(1);
      expect(await check(context, ["accounts"])).toEqual([]);
    },
  );
});
