import { afterEach, expect, test } from "vitest";
import { CommitOutcomeUnknownError, type Database, open, table, text } from "../../index.js";
import type { Transaction } from "../../transaction/index.js";
import { BlockImporter } from "../dump/import-blocks.js";
import { type ImportState, RowBatches } from "./row-batches.js";

const notes = table("notes", { text: text() });
const { signal } = new AbortController();
let db: Database | undefined;
afterEach(() => db?.close());

/** A database of which the answers to some commits are lost. `committed`: whether these commits happen. */
async function losing(answers: number, committed: boolean): Promise<Database> {
  const whole = await open("memory:", { tables: [notes] });
  db = whole;
  let left = 0;
  const transact: Database["transact"] = async (run, options) => {
    let writes = false;
    const result = await whole
      .transact(async (tx) => {
        const noted = tx.setNote.bind(tx);
        tx.setNote = (name, value) => {
          writes = true;
          noted(name, value);
        };
        const answer = await run(tx);
        if (writes && !committed && left < answers) throw new CommitOutcomeUnknownError("lost");
        return answer;
      }, options)
      .finally(() => {
        if (writes) left++;
      });
    if (writes && committed && left <= answers) throw new CommitOutcomeUnknownError("lost");
    return result;
  };
  return new Proxy(whole, {
    get: (target, name) => {
      if (name === "transact") return transact;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** How often each row was written. */
const written = new Map<string, number>();
const writer = {
  column: notes.text as never,
  set: (tx: Transaction, row: unknown, value: unknown) => {
    written.set(row as string, (written.get(row as string) ?? 0) + 1);
    tx.set(notes.text, row as string, value as string);
  },
  delete: () => {},
};
const parsed = (row: string) => ({
  line: 1,
  bytes: Buffer.from(row),
  row,
  cells: [{ writer, value: `text of ${row}` }],
});
const at = (offset: number): ImportState => ({
  offset,
  line: offset,
  sha256: "",
  plan: "",
  header: null,
  rows: 0,
  cells: 0,
  bad: 0,
  badBytes: 0,
});

test.each([
  [true, 1],
  [false, 2],
])("rows whose commit's answer is lost are written once (committed: %s)", async (committed, writes) => {
  written.clear();
  const batches = new RowBatches({ db: await losing(1, committed), note: "n", signal });
  await batches.state();
  await batches.write([parsed("a")], at(10));
  await batches.write([parsed("b")], at(20));
  // Only an attempt that did not commit is repeated.
  expect([...written]).toEqual([
    ["a", writes],
    ["b", 1],
  ]);
  expect(await batches.state()).toEqual(at(20));
});

test("rows whose answers stay lost fail", async () => {
  const batches = new RowBatches({ db: await losing(9, false), note: "n", signal });
  await expect(batches.write([parsed("a")], at(10))).rejects.toBeInstanceOf(CommitOutcomeUnknownError);
});

test.each([true, false])(
  "a block whose commit's answer is lost is written (committed: %s)",
  async (committed) => {
    const block = { of: () => [{ column: notes.text, row: "a", value: "x" }] } as never;
    const importer = new BlockImporter({
      db: await losing(1, committed),
      note: "n",
      cells: block,
      id: "one",
      signal,
    });
    await importer.write({ block: 1, cells: 1, lines: [], firstLine: 1, sha256: "", textBytes: 1 });
    expect(importer.cells).toBe(1);
    expect(await importer.done()).toMatchObject({ block: 1, cells: 1 });
    const other = new BlockImporter({ db: db!, note: "n", cells: block, id: "other", signal });
    await other.write({ block: 1, cells: 1, lines: [], firstLine: 1, sha256: "", textBytes: 1 });
    expect(other.cells).toBe(0);
    expect(await db!.transact((tx) => tx.get(notes.text, "a"))).toBe("x");
  },
);

test("a block is not written again after another process has finished the same import", async () => {
  const cells = { of: () => [{ column: notes.text, row: "a", value: "x" }], due: [] } as never;
  db = await losing(0, false);
  const importerOf = (id: string) => new BlockImporter({ db: db!, note: "n", cells, id, signal });
  const [first, second] = [importerOf("first"), importerOf("second")];
  const block = { cells: 1, lines: [], firstLine: 1, sha256: "", textBytes: 1 };
  await first.write({ ...block, block: 1 });
  await second.write({ ...block, block: 1 });
  await first.write({ ...block, block: 2 });
  await first.finish();
  await db.transact((tx) => tx.set(notes.text, "a", "changed since"));
  await expect(second.write({ ...block, block: 2 })).rejects.toThrow(
    "Another process has finished the same import",
  );
  expect(await db.transact((tx) => tx.get(notes.text, "a"))).toBe("changed since");
});

test("a second process that runs the same import is told to wait for the first, or that it has finished", async () => {
  db = await losing(0, false);
  const [first, second] = [1, 2].map(() => new RowBatches({ db: db!, note: "n", signal }));
  await first!.write([parsed("a")], at(10));
  await second!.state();
  await first!.write([parsed("b")], at(20));
  await expect(second!.write([parsed("b")], at(30))).rejects.toThrow(
    "Another process runs the same import. Let it finish. If it stops before that, run this command again: it continues.",
  );
  await first!.forget();
  await expect(second!.write([parsed("b")], at(30))).rejects.toThrow(
    "Another process has finished the same import, or restarted it. Do not run this command again",
  );
});
