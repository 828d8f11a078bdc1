import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, visits, withLibrary } from "../../../../test/support/library.js";
import { loadPart } from "../../../observer/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const more = loadPart(
  documents,
  () => [
    { row: "m", value: { title: "Mu", size: 2 } },
    { row: "n", value: { title: "Nu" } },
  ],
  { start: "m", end: "o" },
);

/** Loads two rows, and interrupts another load after its first row. */
async function load(): Promise<void> {
  await withLibrary(cli, async (db) => {
    await db.load("more", [more]);
    const stopping = loadPart(
      visits,
      function* () {
        yield { row: ["z", 1] as const, value: { seconds: 1 } };
        throw new RangeError("the source failed");
      },
      { start: ["z", 0], end: ["zz", 0] },
    );
    await expect(db.load("stopped", [stopping])).rejects.toThrow("the source failed");
  });
}

describe("loads", () => {
  it("says that there are none", async () => {
    expect(await cli.run(["loads", "data"])).toMatchObject({
      code: 0,
      lines: [],
      stderr: "note: no bulk load was begun\n",
    });
    expect((await cli.run(["loads", "data", "--json"])).documents).toEqual([]);
  });

  it("lists them, the oldest first", async () => {
    await load();
    const { code, documents: loads } = await cli.run(["loads", "data", "--json"]);
    expect(code).toBe(0);
    const expected = { name: "more", state: "published", tables: ["documents"], rows: 2, cells: 3 };
    expect(loads).toEqual([
      { ...expected, publishedAt: expect.any(Number) },
      { name: "stopped", state: "loading", tables: ["visits"], rows: 0, cells: 0, publishedAt: null },
    ]);
    const { lines } = await cli.run(["loads", "data"]);
    expect(lines[0]).toMatch(/^LOAD +STATE +ROWS +CELLS +TABLES$/);
    expect(lines[1]).toMatch(/^more +published .*Z +2 rows +3 cells +documents$/);
    expect(lines[2]).toMatch(/^stopped +loading +0 rows +0 cells +visits$/);
  });

  it("discards an unfinished load, and no other", async () => {
    await load();
    const write = ["set", "data", "visits.seconds", '["z",5]', "7"];
    const refused = await cli.run(write);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("stopped");
    expect(await cli.run(["loads", "data", "--discard", "stopped"])).toMatchObject({
      code: 0,
      lines: ["discarded stopped"],
    });
    expect((await cli.run(["loads", "data", "--json"])).documents).toHaveLength(1);
    expect((await cli.run(write)).code).toBe(0);
    for (const name of ["more", "stopped"]) {
      const { code, stderr } = await cli.run(["loads", "data", "--discard", name]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`"${name}"`)]);
    }
  });

  it("shows loaded records in `inspect`", async () => {
    await load();
    const { lines } = await cli.run(["inspect", "data", "documents", "n"]);
    expect(lines.join("\n")).toMatch(/title +write .* put from \d+, bulk load: Nu/);
    const [row] = (await cli.run(["inspect", "data", "documents", "n", "--json"])).documents;
    expect(JSON.stringify(row)).toContain('"loaded":true');
    const [other] = (await cli.run(["inspect", "data", "documents", "a", "--json"])).documents;
    expect(JSON.stringify(other)).toContain('"loaded":false');
  });
});
