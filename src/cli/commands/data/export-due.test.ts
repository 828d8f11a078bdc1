import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { CommandLine } from "../../../../test/support/command-line.js";
import { open } from "../../../database/index.js";
import { observer } from "../../../observer/index.js";
import { combiningCounter, exportQueue } from "../../../recipes/index.js";
import { int, table, text } from "../../../schema/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await CommandLine.create();
});

const delivered: string[] = [];
const make = (fails: boolean) => {
  const counter = combiningCounter("hits");
  const queue = exportQueue("mails", {
    value: text(),
    deliver: (entries) => {
      if (fails) throw new Error("Not now.");
      for (const { key, value } of entries) delivered.push(`${key}: ${value}`);
    },
    observer: { attempts: 1 },
  });
  const pages = table("pages", { body: text(), size: int() });
  const measure = observer("measure", pages.body, (tx, { row, value }) => {
    runs.push(row);
    tx.set(pages.size, row, value?.length ?? 0);
  });
  const runs: string[] = [];
  const tables = [pages, ...counter.tables, ...queue.tables];
  return { counter, queue, pages, runs, tables, observers: [counter.observer, queue.observer, measure] };
};

it.each([[false], [true]])(
  "a change that was due or parked is due after the import, if its observers are registered there: %s",
  async (registered) => {
    delivered.length = 0;
    const path = (name: string) => join(cli.folder, name);
    {
      const { counter, queue, pages, tables, observers } = make(true);
      await using db = await open(path("data"), { tables, observers, collectEveryMs: 0 });
      await db.transact((tx) => tx.set(pages.body, "done", "four"));
      await db.transact((tx) => queue.add(tx, "ann", "parked"));
      await db.drain();
      await db.transact((tx) => {
        counter.add(tx, "a", 5);
        tx.set(pages.body, "due", "three");
        return queue.add(tx, "bob", "waits").then(() => undefined);
      });
    }
    expect(await cli.run(["export", "data", "all.jsonl"])).toMatchObject({ code: 0 });
    if (registered) {
      const { tables, observers } = make(false);
      await using _db = await open(path("copy"), { tables, observers, collectEveryMs: 0 });
    }
    for (let n = 0; n < 2; n++) {
      const { code, stderr } = await cli.run(["import", "copy", "all.jsonl", ...(n > 0 ? ["--merge"] : [])]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    }
    const { counter, pages, runs, tables, observers } = make(false);
    await using db = await open(path("copy"), { tables, observers, collectEveryMs: 0 });
    await db.drain();
    expect(await db.transact((tx) => tx.get(counter.values, "a"))).toBe(5);
    expect(await db.transact((tx) => tx.get(pages.size, "due"))).toBe(5);
    expect(delivered.sort()).toEqual(["ann: parked", "bob: waits"]);
    // An import does not make handled changes due again. But an observer that was registered before
    // the import sees the import itself as a change.
    expect(runs.sort()).toEqual(registered ? ["done", "due"] : ["due"]);
    expect(await db.check()).toEqual([]);
  },
);
