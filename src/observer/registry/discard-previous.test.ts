import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { definition } from "../../schema/index.js";
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
