import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { definition } from "../../schema/index.js";
import type { RawRead, RowStore } from "../../store/index.js";
import { collect } from "../../transaction/index.js";
import { discardParked, listParked, observer } from "../index.js";

test.each(["one-phase", "two-phase"] as const)(
  "a change that was discarded after collection is the `previous` of the next run (%s)",
  async (commit) => {
    const seen: (string | undefined)[] = [];
    const watching = observer(
      "watching",
      documents.contents,
      (_tx, { value, previous }) => {
        if (value === "one") throw new Error("No.");
        seen.push(previous);
      },
      { attempts: 1 },
    );
    const db = await openTest({ commit, observers: [watching] });
    const set = (value: string) => db.transact((tx) => tx.set(documents.contents, "a", value));
    await set("one");
    await db.pool.drain();
    await set("two");
    await db.context.background.settled();
    await db.context.oracle.next();
    const options = { retentionMs: 0 };
    await collect(db.context, [documents[definition].name], Number.POSITIVE_INFINITY, options);
    for await (const each of listParked(db.registry)) await discardParked(db.registry, each);
    await db.pool.drain();
    expect(seen).toEqual(["one"]);
    await db.close();
  },
);

test("so is one that is discarded between collection's reads of the parked record and of the acknowledgment", async () => {
  const seen: (string | undefined)[] = [];
  const watching = observer(
    "watching",
    documents.contents,
    (_tx, { value, previous }) => {
      if (value === "one") throw new Error("No.");
      seen.push(previous);
    },
    { attempts: 1 },
  );
  const db = await openTest({ observers: [watching] });
  const set = (value: string) => db.transact((tx) => tx.set(documents.contents, "a", value));
  await set("one");
  await db.pool.drain(); // parked
  await set("two"); // not run yet: no worker runs
  await db.context.oracle.next();

  const view = await db.registry.fresh();
  const [registered] = view.observersOf(documents[definition].name, documents.contents.path);
  const parkedColumn = Buffer.from(registered!.parked);
  let wasDiscarded = false;
  const store: RowStore = new Proxy(db.context.store, {
    get(target, name) {
      if (name !== "readRaw") {
        const found: unknown = Reflect.get(target, name, target);
        return typeof found === "function" ? found.bind(target) : found;
      }
      return async (read: RawRead) => {
        const [only] = read.columns;
        if (!wasDiscarded && only !== undefined && "exact" in only && parkedColumn.equals(only.exact)) {
          wasDiscarded = true;
          for await (const each of listParked(db.registry)) await discardParked(db.registry, each);
        }
        return target.readRaw(read);
      };
    },
  });
  const context = { ...db.context, store };
  await collect(context, [documents[definition].name], Number.POSITIVE_INFINITY, { retentionMs: 0 });
  expect(wasDiscarded).toBe(true);
  await db.pool.drain();
  expect(seen).toEqual(["one"]);
  await db.close();
});
