import { expect, it } from "vitest";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
import { loadPart } from "../../../observer/index.js";

const rows = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    row: `${prefix}${String(index).padStart(3, "0")}`,
    value: { title: `title ${index} `.padEnd(60_000, "."), anchors: new Map([["x", "anchor"]]) },
  }));

it("an export has what reads see: published loads, and nothing of one in progress", async () => {
  const cli = await libraryCommandLine();
  await withLibrary(cli, async (db) => {
    await db.load("published", [loadPart(documents, () => rows("p", 3), { start: "p", end: "q" })]);
    const stopping = loadPart(
      documents,
      function* () {
        yield* rows("s", 40);
        throw new RangeError("the source failed");
      },
      { start: "s", end: "t" },
    );
    await expect(db.load("stopped", [stopping])).rejects.toThrow("the source failed");
    // Its first rows are stored.
    expect(await db.inspect(documents, "s000")).not.toEqual([]);
  });
  const scan = async (data: string) => (await cli.run(["scan", data, "documents", "--json"])).documents;
  const seen = await scan("data");
  expect(seen.map(({ row }) => row)).toEqual(["a", "ab", "b", "p000", "p001", "p002"]);
  expect((await cli.run(["export", "data", "backup.jsonl"])).code).toBe(0);
  expect((await cli.run(["import", "copy", "backup.jsonl"])).code).toBe(0);
  expect(await scan("copy")).toEqual(seen);
  // The copy has ordinary rows, and no load.
  expect((await cli.run(["loads", "copy", "--json"])).documents).toEqual([]);
  expect((await cli.run(["check", "copy"])).code).toBe(0);
  expect((await cli.run(["set", "copy", "documents.title", "s000", "mine"])).code).toBe(0);
});
