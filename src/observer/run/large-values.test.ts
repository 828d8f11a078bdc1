import { describe, expect, test } from "vitest";
import { countHints } from "../../../test/support/observer/context.js";
import { databasesOf } from "../../../test/support/observer/started.js";
import { columnPath, table, text } from "../../schema/index.js";
import { batchObserver, listParked, observer, rowObservers } from "../index.js";

const documents = table("documents", { contents: text(), title: text() });
const start = databasesOf({ tables: [documents] });
/** A store ends a page of a row's cells after such a value. */
const large = (letter: string) => letter.repeat(2 * 1024 * 1024);
const shown = (value: string | undefined) => value && `${value[0]} ${value.length}`;

describe.each(["one-phase", "two-phase"] as const)("values larger than a page, in %s", (commit) => {
  test.each([
    { kind: "an observer", batch: undefined },
    { kind: "a batch observer", batch: 10 },
  ])("$kind gets the previous value, and handles each change once", async ({ batch }) => {
    const changes: unknown[] = [];
    const see = (value: string | undefined, previous: string | undefined) =>
      changes.push([shown(previous), shown(value)]);
    const seeing =
      batch === undefined
        ? observer("seeing", documents.contents, (_tx, { value, previous }) => void see(value, previous))
        : batchObserver("seeing", documents.contents, (_tx, all) => {
            for (const { value, previous } of all) see(value, previous);
          });
    const db = await start({ commit, observers: [seeing] });
    for (const letter of ["a", "b"]) {
      await db.transact((tx) => tx.set(documents.contents, "row", large(letter)));
      await db.pool.drain();
    }
    const registered = (await db.registry.fresh()).observers.get("seeing")!;
    const spurious = await db.registry.systemTransaction("spurious");
    const cell = { table: "documents", row: Buffer.from("row"), column: columnPath("contents") };
    spurious.addHint(registered.hint(cell));
    await spurious.commit();
    await db.pool.drain();
    await db.transact((tx) => tx.delete(documents.contents, "row"));
    await db.pool.drain();
    const size = large("a").length;
    expect(changes).toEqual([
      [undefined, `a ${size}`],
      [`a ${size}`, `b ${size}`],
      [`b ${size}`, undefined],
    ]);
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
  });

  test("a parked change stays parked", async () => {
    let runs = 0;
    const failing = observer(
      "failing",
      documents.contents,
      () => {
        runs++;
        throw new Error("bad");
      },
      { attempts: 1 },
    );
    const db = await start({ commit, observers: [failing] });
    await db.transact((tx) => tx.set(documents.contents, "row", large("a")));
    await db.pool.drain();
    const registered = (await db.registry.fresh()).observers.get("failing")!;
    const spurious = await db.registry.systemTransaction("spurious");
    const cell = { table: "documents", row: Buffer.from("row"), column: columnPath("contents") };
    spurious.addHint(registered.hint(cell));
    await spurious.commit();
    await db.pool.drain();
    expect(runs).toBe(1);
    const parked: unknown[] = [];
    for await (const { row } of listParked(db.registry)) parked.push(row);
    expect(parked).toEqual(["row"]);
  });

  test("observers of several columns share one run, also if only a small column has changed", async () => {
    let runs = 0;
    const shared = rowObservers("shared", [documents.contents, documents.title], () => void runs++);
    const db = await start({ commit, observers: shared });
    for (const letter of ["a", "b"]) {
      await db.transact((tx) => {
        tx.set(documents.contents, "row", large(letter));
        tx.set(documents.title, "row", large(letter));
      });
      await db.pool.drain();
    }
    expect(runs).toBe(2);
    await db.transact((tx) => tx.set(documents.title, "row", "b"));
    await db.pool.drain();
    expect(runs).toBe(3);
  });
});
