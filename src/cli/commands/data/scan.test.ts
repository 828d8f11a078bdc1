import { beforeEach, describe, expect, it } from "vitest";
import { type CommandLine, Printed } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const rows = async (...args: string[]) => {
  const { code, documents: printed } = await cli.run(["scan", "data", ...args, "--json"]);
  expect(code).toBe(0);
  return printed.map((each) => each.row);
};

describe("scan", () => {
  it("prints a column, one line for each row", async () => {
    const { code, lines } = await cli.run(["scan", "data", "documents.title"]);
    expect(code).toBe(0);
    expect(lines).toEqual(["a\tAlpha", "ab\tLine one\\nLine two", "b\tBeta"]);
    const { documents: printed } = await cli.run(["scan", "data", "documents.title", "--json"]);
    expect(printed[1]).toEqual({ row: "ab", value: "Line one\nLine two" });
  });

  it("prints a table, with each row's cells under its key", async () => {
    const { lines } = await cli.run(["scan", "data", "documents", "--start", "ab"]);
    expect(lines).toEqual(["ab", "  title  Line one\\nLine two", "b", "  title  Beta"]);
    const { documents: printed } = await cli.run(["scan", "data", "documents", "--start", "b", "--json"]);
    expect(printed).toEqual([{ row: "b", columns: { title: "Beta", anchors: {} } }]);
  });

  it("prints a family, and one of its cells", async () => {
    const { documents: family } = await cli.run(["scan", "data", "documents.anchors", "--json"]);
    expect(family).toEqual([{ row: "a", cells: { "https://x.example/": "first", y: "second" } }]);
    expect((await cli.run(["scan", "data", "documents.anchors"])).lines).toEqual([
      "a",
      "  anchors:https://x.example/  first",
      "  anchors:y  second",
    ]);
    expect((await cli.run(["scan", "data", "documents.anchors:y"])).lines).toEqual(["a\tsecond"]);
  });

  it("narrows to a range", async () => {
    expect(await rows("documents.title", "--prefix", "a")).toEqual(["a", "ab"]);
    expect(await rows("documents.title", "--start", "ab")).toEqual(["ab", "b"]);
    expect(await rows("documents.title", "--end", "b")).toEqual(["a", "ab"]);
    expect(await rows("documents.title", "--reverse", "--limit", "2")).toEqual(["b", "ab"]);
    expect(await rows("documents.title", "--limit", "0")).toEqual([]);
  });

  it("takes composite keys, and their first parts as a prefix", async () => {
    expect(await rows("visits.seconds")).toEqual(['["home",1]', '["home",2]', '["shop",1]']);
    expect(await rows("visits.seconds", "--prefix", '["home"]')).toEqual(['["home",1]', '["home",2]']);
    expect(await rows("visits.seconds", "--start", '["home",2]', "--end", '["shop",1]')).toEqual([
      '["home",2]',
    ]);
    expect(await rows("visits.seconds", "--start", '["shop"]')).toEqual(['["shop",1]']);
    expect(await rows("visits.seconds", "--end", '["shop"]')).toEqual(['["home",1]', '["home",2]']);
  });

  it("reads the past", async () => {
    const before = await withLibrary(cli, async (db) => {
      await using snapshot = await db.snapshot();
      await db.transact((tx) => tx.set(documents.title, "c", "Gamma"));
      return snapshot.timestamp;
    });
    expect(await rows("documents.title")).toEqual(["a", "ab", "b", "c"]);
    expect(await rows("documents.title", "--at", String(before))).toEqual(["a", "ab", "b"]);
  });

  it("cuts lines only on a terminal", async () => {
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "long", "x".repeat(100))));
    const stdout = new Printed(20);
    await cli.run(["scan", "data", "documents.title", "--prefix", "long"], { stdout });
    expect(stdout.text).toBe(`long\t${"x".repeat(14)}…\n`);
    const { lines } = await cli.run(["scan", "data", "documents.title", "--prefix", "long"]);
    expect(lines).toEqual([`long\t${"x".repeat(100)}`]);
  });

  it("escapes control characters in values on a terminal", async () => {
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "e", "\u001b[2Jgone\u009b")));
    const { lines } = await cli.run(["scan", "data", "documents.title", "--prefix", "e"]);
    expect(lines).toEqual(["e\t\\u001b[2Jgone\\u009b"]);
  });

  it.each([
    [["documents.title", "--limit", "-1"], "--limit"],
    [["documents.title", "--limit", "many"], "--limit"],
    [["visits.seconds", "--prefix", "home"], "JSON array"],
    [["visits.seconds", "--prefix", '["home",1,2]'], "array of 2 parts"],
    [["documents.rescore"], "signal"],
    [["nowhere"], "nowhere"],
  ])("exits with 2 for %j", async (args, message) => {
    const { code, stdout, stderr } = await cli.run(["scan", "data", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });
});
