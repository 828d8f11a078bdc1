import { beforeEach, describe, expect, it } from "vitest";
import { builtLibrary } from "../../../../test/support/built/library.js";
import { type CommandLine, Printed } from "../../../../test/support/command-line.js";
import {
  documents,
  ledgerModule,
  libraryCommandLine,
  withLibrary,
} from "../../../../test/support/library.js";

const { index: library } = builtLibrary();
let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

describe("get", () => {
  it.each([
    ["documents.title", "a", "Alpha\n", "Alpha"],
    ["documents.title", "ab", "Line one\nLine two\n", "Line one\nLine two"],
    ["documents.size", "a", "5\n", 5],
    ["documents.links", "a", '["b","c"]\n', ["b", "c"]],
    ["documents.thumbnail", "a", "AP8=\n", "AP8="],
    ["visits.seconds", '["shop",1]', "Infinity\n", "Infinity"],
  ])("prints a cell: %s of %s", async (target, row, text, value) => {
    expect(await cli.run(["get", "data", target, row])).toMatchObject({ code: 0, stdout: text, stderr: "" });
    const [table, column] = target.split(".");
    const { code, documents: printed } = await cli.run(["get", "data", target, row, "--json"]);
    expect({ code, printed }).toEqual({ code: 0, printed: [{ table, row, column, found: true, value }] });
  });

  it("prints a value as it is for programs, and without commands on a terminal", async () => {
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "e", "\u001b[2J\u009b\nend")));
    const args = ["get", "data", "documents.title", "e"];
    expect((await cli.run(args)).stdout).toBe("\u001b[2J\u009b\nend\n");
    const stdout = new Printed(80);
    await cli.run(args, { stdout });
    expect(stdout.text).toBe("\\u001b[2J\\u009b\nend\n");
  });

  it("prints the cell of a family whose qualifier has dots and colons", async () => {
    const target = "documents.anchors:https://x.example/";
    expect(await cli.run(["get", "data", target, "a"])).toMatchObject({ code: 0, stdout: "first\n" });
    const { documents: printed } = await cli.run(["get", "data", target, "a", "--json"]);
    expect(printed[0]).toMatchObject({ column: "anchors", qualifier: "https://x.example/", value: "first" });
  });

  it("prints the cells of a family, one on each line", async () => {
    const { stdout } = await cli.run(["get", "data", "documents.anchors", "a"]);
    expect(stdout).toBe("https://x.example/\tfirst\ny\tsecond\n");
    const { documents: printed } = await cli.run(["get", "data", "documents.anchors", "a", "--json"]);
    expect(printed).toEqual([
      { qualifier: "https://x.example/", value: "first" },
      { qualifier: "y", value: "second" },
    ]);
  });

  it("prints a row in the order of its table's columns", async () => {
    const { lines } = await cli.run(["get", "data", "documents", "a"]);
    expect(lines).toEqual([
      "title                       Alpha",
      "size                        5",
      'links                       ["b","c"]',
      "thumbnail                   AP8=",
      "anchors:https://x.example/  first",
      "anchors:y                   second",
    ]);
    const { documents: printed } = await cli.run(["get", "data", "documents", "a", "--json"]);
    expect(printed).toEqual([
      {
        table: "documents",
        row: "a",
        found: true,
        columns: {
          title: "Alpha",
          size: 5,
          links: ["b", "c"],
          thumbnail: "AP8=",
          anchors: { "https://x.example/": "first", y: "second" },
        },
      },
    ]);
  });

  it.each([
    ["documents.title", "nobody"],
    ["documents.anchors", "b"],
    ["documents", "nobody"],
  ])("exits with 1 and prints nothing if there is no cell: %s of %s", async (target, row) => {
    expect(await cli.run(["get", "data", target, row])).toMatchObject({ code: 1, stdout: "", stderr: "" });
    const { code, documents: printed } = await cli.run(["get", "data", target, row, "--json"]);
    expect(code).toBe(1);
    expect(printed.map((each) => each.found)).toEqual(target === "documents.anchors" ? [] : [false]);
  });

  it("reads the past, by timestamp and by date", async () => {
    const before = await withLibrary(cli, async (db) => {
      const snapshot = await db.snapshot();
      await db.transact((tx) => tx.set(documents.title, "a", "Alpha 2"));
      await snapshot.close();
      return snapshot.timestamp;
    });
    const at = async (moment: string) =>
      (await cli.run(["get", "data", "documents.title", "a", "--at", moment])).stdout;
    expect(await at(String(before))).toBe("Alpha\n");
    expect((await cli.run(["get", "data", "documents.title", "a"])).stdout).toBe("Alpha 2\n");
    const earlier = new Date(before / 1_000 - 60_000).toISOString();
    expect(await cli.run(["get", "data", "documents.title", "a", "--at", earlier])).toMatchObject({
      code: 1,
    });
  });

  it.each([
    ["2999-01-01", "in the future"],
    ["yesterday", "neither a timestamp"],
    ["2025-99-99", "neither a timestamp"],
  ])("refuses the time %s", async (moment, message) => {
    const { code, stderr } = await cli.run(["get", "data", "documents.title", "a", "--at", moment]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it("exits with 1 for a time before the safepoint", async () => {
    await withLibrary(cli, (db) => db.collect({ retentionMs: 0 }));
    const result = await cli.run(["get", "data", "documents.title", "a", "--at", "1", "--json"]);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code: "STALE_SNAPSHOT" } });
  });

  it.each([
    ["nowhere.title", "a", "SCHEMA", "documents, ledger, visits"],
    ["documents.nothing", "a", "SCHEMA", "title, size, links, thumbnail, anchors, rescore"],
    ["documents.title:q", "a", "SCHEMA", "not a family"],
    ["documents.rescore", "a", "SCHEMA", "signal"],
    ["visits.seconds", "home", "INVALID_KEY", "JSON array"],
    ["visits.seconds", '["home"]', "INVALID_KEY", "array of 2 parts"],
    ["documents.title", "x".repeat(1_501), "INVALID_KEY", "1500"],
    [`documents.anchors:${"x".repeat(1_000)}`, "y".repeat(501), "INVALID_KEY", "together"],
  ])("exits with 2 for %s of %s", async (target, row, errorCode, message) => {
    const { code, stdout, stderr } = await cli.run(["get", "data", target, row, "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
    expect(error.code).toBe(errorCode);
    expect(error.message).toContain(message);
  });

  it("shows values of a custom codec as base64, and decodes them with the module", async () => {
    const stored = Buffer.from("12345678901234567890").toString("base64");
    const without = await cli.run(["get", "data", "ledger.total", "all"]);
    expect(without).toMatchObject({ code: 0, stdout: `${stored}\n` });
    expect(without.stderr).toContain("--app");
    await cli.write("app.ts", ledgerModule(library));
    const decoded = await cli.run(["get", "data", "ledger.total", "all", "--app", "app.ts"]);
    expect(decoded).toMatchObject({ code: 0, stderr: "" });
    expect(decoded.stdout).toContain("12345678901234567890");
  });
});
