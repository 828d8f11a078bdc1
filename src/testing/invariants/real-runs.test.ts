import { expect, test } from "vitest";
import { open } from "../../database/index.js";
import { observer } from "../../observer/index.js";
import { family, int, signal, table, text } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { SeededRandom, WatchedStore } from "../world/index.js";
import { ProtocolWatcher, type Violation } from "./index.js";

const accounts = table("accounts", { balance: int(), note: text(), marks: family(text()), poke: signal() });
const mirrors = table("mirrors", { copy: int(), length: int(), marked: int(), pokes: int() });

const copy = observer("copy", accounts.balance, (tx, { row, value }) => {
  if (value === undefined) tx.delete(mirrors.copy, row);
  else tx.set(mirrors.copy, row, value);
});
const length = observer("length", accounts.note, (tx, { row, value, previous }) => {
  tx.set(mirrors.length, row, (value ?? "").length + (previous ?? "").length);
});
const marked = observer("marked", accounts.marks, async (tx, { row }) => {
  tx.set(mirrors.marked, row, ((await tx.get(mirrors.marked, row)) ?? 0) + 1);
});
const poked = observer("poked", accounts.poke, async (tx, { row }) => {
  tx.set(mirrors.pokes, row, ((await tx.get(mirrors.pokes, row)) ?? 0) + 1);
});
const failing = observer(
  "failing",
  accounts.balance,
  (_tx, { value = 0 }) => {
    if (value % 7 === 0) throw new Error("seven");
  },
  { attempts: 2, backoff: { initialMs: 1, maximumMs: 1 } },
);
const observers = [copy, length, marked, poked, failing];
const rows = ["a", "b", "c", "d", "e"];

for (const commit of ["auto", "two-phase"] as const) {
  test(`a ${commit} run with transfers, observers, deletes and collection violates nothing`, async () => {
    const violations: Violation[] = [];
    const store = memoryStore({ inlineBytes: 16 });
    const watched = new WatchedStore(store);
    const watcher = new ProtocolWatcher({ store, onViolation: (violation) => violations.push(violation) });
    watched.watch(watcher);
    await using db = await open(watched, {
      commit,
      tables: [accounts, mirrors],
      observers,
      collectEveryMs: 0,
    });
    const random = new SeededRandom("7");
    const row = () => rows[random.below(rows.length)]!;
    const change = () =>
      db.transact(async (tx) => {
        const [from, to] = [row(), row()];
        switch (random.below(6)) {
          case 0:
            tx.delete(accounts.balance, from);
            return;
          case 1:
            tx.set(accounts.note, from, "x".repeat(random.below(40)));
            tx.set(accounts.marks.at(to), from, to);
            return;
          case 2:
            await tx.deleteRow(accounts, from);
            return;
          case 3:
            tx.notify(accounts.poke, to);
            return;
          default:
            tx.set(accounts.balance, from, ((await tx.get(accounts.balance, from)) ?? 0) - 1);
            tx.set(accounts.balance, to, ((await tx.get(accounts.balance, to)) ?? 0) + 1);
        }
      });
    const worker = db.work({ observers });
    for (let round = 0; round < 40; round++) {
      await Promise.all(Array.from({ length: 6 }, () => change()));
      if (round % 8 === 7) await db.collect({ retentionMs: 0 });
    }
    await db.drain();
    for await (const parked of db.parked()) {
      if (random.below(2) === 0) await db.discard(parked);
      else await db.retry(parked);
    }
    await db.drain();
    await worker.stop();
    await db.collect({ retentionMs: 0 });
    await db.collect({ retentionMs: 0 });
    expect(violations).toEqual([]);
    expect(watcher.atRest()).toEqual([]);

    // A watcher can begin with an empty store, and also with existing contents.
    const second = new ProtocolWatcher({ store, onViolation: (violation) => violations.push(violation) });
    second.adopt();
    watched.watch(second);
    await using again = db.work({ observers });
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 4 }, () => change()));
      await db.collect({ retentionMs: 0 });
    }
    await db.drain();
    await again.stop();
    await db.collect({ retentionMs: 0 });
    expect(watcher.atRest()).toEqual([]);
    expect(second.atRest()).toEqual([]);
    expect(violations).toEqual([]);
  });
}

test("a watcher does not read a store that answers with promises", async () => {
  const store: RowStore = Object.assign(memoryStore(), {
    readRaw: async () => ({ rows: [], next: undefined }),
  });
  const watcher = new ProtocolWatcher({ store, onViolation: () => {} });
  expect(() => watcher.adopt()).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});
