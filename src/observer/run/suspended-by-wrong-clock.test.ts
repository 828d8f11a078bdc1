import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { memoryStore } from "../../store/memory/index.js";
import { readHints } from "../hint/hint.js";
import { observer } from "../index.js";
import { newTask } from "../queue/task.js";
import { park } from "./park.js";

test("a cell that a process with a wrong clock has parked for crashes waits at most `backoff.maximumMs`", async () => {
  const environment = new TestEnvironment();
  const store = memoryStore({ environment });
  let runs = 0;
  const killing = observer("killing", documents.contents, () => void runs++, { attempts: 1 });
  const db = await openTest({ environment, store, observers: [killing] });
  await db.transact((tx) => tx.set(documents.contents, "a", "x"));
  const [hint] = (await readHints(store, { start: undefined, end: undefined }, 10)).hints;
  const { address, row, column, timestamp } = hint!;
  const cell = { table: "documents", row, column };
  const offered = { observer: killing, cell, hint: address, timestamp, state: undefined, takenBy: undefined };
  const now = environment.now.bind(environment);
  environment.now = () => now() + 7_200_000; // the clock of the parking process is two hours ahead
  await park(db.registry, newTask("key", offered), timestamp, 1, new Error("killed"), 1);
  environment.now = now;
  await db.transact((tx) => tx.set(documents.contents, "a", "y"));
  db.pool.work();
  await environment.advance(10 * 60_000); // maximumMs is 60,000
  expect(runs).toBe(1);
  await environment.until(db.close());
});
