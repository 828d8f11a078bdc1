import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { libraryCommandLine } from "../../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const row = async () => (await cli.run(["get", "data", "documents", "a", "--json"])).documents[0];

describe("delete", () => {
  it("deletes a cell", async () => {
    const { code, stdout } = await cli.run(["delete", "data", "documents.title", "a"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^committed at \d+/);
    expect(await cli.run(["get", "data", "documents.title", "a"])).toMatchObject({ code: 1 });
    expect(await row()).toMatchObject({ found: true, columns: { size: 5 } });
  });

  it("deletes a cell of a family", async () => {
    await cli.run(["delete", "data", "documents.anchors:y", "a"]);
    expect(await row()).toMatchObject({ columns: { anchors: { "https://x.example/": "first" } } });
  });

  it("deletes a row, and reports if there was none", async () => {
    const { documents: printed } = await cli.run(["delete", "data", "documents", "a", "--json"]);
    expect(printed[0]?.commitTimestamp).toBeTypeOf("number");
    expect(await row()).toMatchObject({ found: false });
    const again = await cli.run(["delete", "data", "documents", "a"]);
    expect(again).toMatchObject({ code: 0, stdout: "nothing to commit\n" });
    expect((await cli.run(["delete", "data", "documents", "a", "--json"])).documents).toEqual([
      { commitTimestamp: null, time: null },
    ]);
  });

  it("refuses a family as a whole", async () => {
    const { code, stderr } = await cli.run(["delete", "data", "documents.anchors", "a"]);
    expect(code).toBe(2);
    expect(stderr).toContain("documents.anchors:QUALIFIER");
    expect(await row()).toMatchObject({ columns: { anchors: { y: "second" } } });
  });
});
