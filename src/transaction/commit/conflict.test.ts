import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { ConflictError } from "../../errors/index.js";
import { int, table } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { CoreTransaction } from "../core.js";
import { transact } from "../transact.js";
import { Transaction } from "../transaction.js";

const counters = table("counters", { count: int() });
const versions = 50;

/** Wraps the store and counts how many versions of the counters it has returned. */
function counting(store: RowStore): { readonly store: RowStore; readonly shown: () => number } {
  let shown = 0;
  return {
    shown: () => shown,
    store: new Proxy(store, {
      get(target, name) {
        if (name === "readRaw") {
          return async (...args: Parameters<RowStore["readRaw"]>) => {
            const page = await target.readRaw(...args);
            for (const { cells } of page.rows) for (const { versions } of cells) shown += versions.length;
            return page;
          };
        }
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    }),
  };
}

test.each(["one-phase", "two-phase"] as const)(
  "a transaction that conflicts (%s) does not read every version that the cell ever had",
  async (commit) => {
    const { store, shown } = counting(memoryStore());
    const context = bareContext(store, { commit });
    const count = (value: number) => transact(context, (tx) => tx.set(counters.count, "hot", value));
    for (let value = 0; value < versions; value++) await count(value);
    const slow = new Transaction(await CoreTransaction.begin(context));
    slow.set(counters.count, "hot", -1);
    await count(versions);
    await context.background.settled();
    const before = shown();
    const error: unknown = await slow.commit().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConflictError);
    expect((error as ConflictError).winnerTimestamp).toBeGreaterThan(slow.startTimestamp);
    expect(shown() - before).toBeLessThan(versions / 2);
  },
);
