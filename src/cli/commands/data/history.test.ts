import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
  await withLibrary(cli, async (db) => {
    await db.transact((tx) => tx.set(documents.title, "a", "Alpha\n2"));
    await db.transact((tx) => tx.delete(documents.title, "a"));
  });
});

describe("history", () => {
  it("prints the versions of a cell, newest first", async () => {
    const { code, lines } = await cli.run(["history", "data", "documents.title", "a"]);
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^TIME +COMMIT +START +KIND +VALUE$/);
    expect(lines.slice(1).map((line) => line.split(/ {2,}/).slice(3).join(" "))).toEqual([
      "delete",
      "put Alpha\\n2",
      "put Alpha",
    ]);
  });

  it("prints a line of JSON for each version, with a timestamp for further reads", async () => {
    const { documents: versions } = await cli.run(["history", "data", "documents.title", "a", "--json"]);
    expect(versions.map(({ kind, value }) => [kind, value])).toEqual([
      ["delete", undefined],
      ["put", "Alpha\n2"],
      ["put", "Alpha"],
    ]);
    for (const { commitTimestamp, kind, value } of versions) {
      const args = ["get", "data", "documents.title", "a", "--at", String(commitTimestamp), "--json"];
      expect((await cli.run(args)).documents[0]).toMatchObject({
        found: kind === "put",
        ...(kind === "put" ? { value } : {}),
      });
    }
  });

  it("stops at a limit", async () => {
    const args = ["history", "data", "documents.title", "a", "--limit", "1", "--json"];
    expect((await cli.run(args)).documents).toHaveLength(1);
  });

  it("exits with 0 for a cell without versions", async () => {
    const result = await cli.run(["history", "data", "documents.title", "nobody"]);
    expect(result).toMatchObject({ code: 0, stdout: "", stderr: "note: the cell has no versions\n" });
  });

  it("requires a cell", async () => {
    expect(await cli.run(["history", "data", "documents.anchors", "a"])).toMatchObject({ code: 2 });
    expect(await cli.run(["history", "data", "documents", "a"])).toMatchObject({ code: 2 });
  });
});
