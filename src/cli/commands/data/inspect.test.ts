import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
import { observer } from "../../../observer/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

interface Inspected {
  readonly column: string;
  readonly writes: readonly Record<string, unknown>[];
  readonly statuses: readonly Record<string, unknown>[];
}

const inspect = async (row: string) => {
  const { code, documents: printed } = await cli.run(["inspect", "data", "documents", row, "--json"]);
  return { code, columns: (printed[0]?.columns ?? []) as readonly Inspected[] };
};

describe("inspect", () => {
  it("prints a line for each protocol cell", async () => {
    const { code, lines } = await cli.run(["inspect", "data", "documents", "b"]);
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^COLUMN +PART +TIMESTAMP +TIME +HOLDS$/);
    expect(lines[1]).toMatch(/^title +write +\d+ +\S+Z +put from \d+, one phase: Beta$/);
  });

  it("prints write records and statuses of two-phase commits", async () => {
    const commit = (title: string) =>
      withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "b", title)), {
        commit: "two-phase",
      });
    await commit("Beta 2");
    const { columns } = await inspect("b");
    const title = columns.find(({ column }) => column === "title");
    expect(title?.writes.map(({ value, onePhase }) => [value, onePhase])).toEqual([
      ["Beta 2", false],
      ["Beta", true],
    ]);
    expect(title?.statuses).toEqual([
      {
        startTimestamp: title?.writes[0]?.startTimestamp,
        outcome: "committed",
        commit: title?.writes[0]?.commitTimestamp,
      },
    ]);
  });

  it("decodes the observers' records", async () => {
    const sizes = observer("sizes", documents.anchors, () => undefined, { version: 3 });
    await withLibrary(
      cli,
      async (db) => {
        await db.transact((tx) => tx.set(documents.anchors.at("q"), "b", "new"));
        await db.drain();
      },
      { observers: [sizes] },
    );
    const { columns } = await inspect("b");
    const acknowledgment = columns.find(({ column }) => column.startsWith("~ack"));
    expect(acknowledgment?.column).toBe("~ack sizes anchors:q");
    expect(acknowledgment?.writes[0]).toMatchObject({ value: { version: 3, chain: 0 } });
    const { lines } = await cli.run(["inspect", "data", "documents", "b"]);
    expect(lines.find((line) => line.startsWith("~ack"))).toContain('"version":3');
  });

  it("exits with 1 for a row without cells", async () => {
    expect(await cli.run(["inspect", "data", "documents", "nobody"])).toMatchObject({ code: 1, stdout: "" });
    expect(await inspect("nobody")).toEqual({ code: 1, columns: [] });
  });

  it("requires a table", async () => {
    expect(await cli.run(["inspect", "data", "documents.title", "a"])).toMatchObject({ code: 2 });
  });
});
