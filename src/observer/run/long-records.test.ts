import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { definition } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { check, collect } from "../../transaction/index.js";
import { observer } from "../index.js";

test("garbage collection and check find acknowledgments that are too long for write records", async () => {
  const seen: (string | undefined)[] = [];
  const watching = observer("watching", documents.contents, (_tx, { previous }) => {
    seen.push(previous);
  });
  // An acknowledgment has 16 bytes, so this store keeps it in a data cell.
  const store = memoryStore({ inlineBytes: 8 });
  const db = await openTest({ store, commit: "two-phase", observers: [watching] });
  const set = (value: string) => db.transact((tx) => tx.set(documents.contents, "a", value));
  await set("one");
  await db.pool.drain();
  expect(await check(db.context, [documents[definition].name])).toEqual([]);
  await set("two");
  await db.context.background.settled();
  const report = await collect(db.context, [documents[definition].name], Number.POSITIVE_INFINITY, {
    retentionMs: 0,
  });
  expect(report.safepoint).toBeGreaterThan(0);
  await db.pool.drain();
  expect(seen).toEqual([undefined, "one"]);
  await db.close();
});
