import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, visits, withLibrary } from "../../../../test/support/library.js";
import { observer } from "../../../observer/index.js";
import { Progress } from "../../print/progress.js";

let cli: CommandLine;

/** The test modules read their exports from this global variable. */
const shared = globalThis as { app?: unknown };
const sizes = observer("sizes", documents.title, (tx, { row, value }) =>
  tx.set(documents.size, row, value?.length ?? 0),
);
const times = observer("times", visits.seconds, () => {});
const scores = observer("scores", documents.rescore, () => {});

beforeEach(async () => {
  cli = await libraryCommandLine();
  shared.app = { tables: [documents], observers: [sizes, times, scores] };
  await cli.write("app.mjs", "export default globalThis.app;\n");
});
afterEach(() => {
  delete shared.app;
});

const pending = async () =>
  (await cli.run(["pending", "data", "--json"])).documents.map(({ row }) => row).sort();

describe("backfill", () => {
  it("makes existing cells due, and registers the observer if necessary", async () => {
    const { code, documents: reports } = await cli.run(["backfill", "data", "app.mjs", "sizes", "--json"]);
    expect(code).toBe(0);
    expect(reports).toEqual([
      { observer: "sizes", marked: 3, continued: false, durationMs: expect.any(Number) },
    ]);
    expect(await pending()).toEqual(["a", "ab", "b"]);
    await withLibrary(cli, (db) => db.drain(), { observers: [sizes] });
    expect((await cli.run(["get", "data", "documents.size", "b"])).stdout).toBe("4\n");
    const again = await cli.run(["backfill", "data", "app.mjs", "sizes"]);
    expect(again.stdout).toMatch(/^3 cells marked for sizes in \d/);
  });

  it("takes a range", async () => {
    await cli.run(["backfill", "data", "app.mjs", "sizes", "--prefix", "a"]);
    expect(await pending()).toEqual(["a", "ab"]);
    await cli.run(["backfill", "data", "app.mjs", "times", "--prefix", '["home"]', "--start", '["home",2]']);
    expect(await pending()).toEqual(['["home",2]', "a", "ab"]);
    await cli.run(["backfill", "data", "app.mjs", "sizes", "--start", "ab", "--end", "c"]);
    expect(await pending()).toEqual(['["home",2]', "a", "ab", "b"]);
  });

  it("continues an interrupted backfill", async () => {
    const rows = 3_000;
    await withLibrary(cli, (db) =>
      db.transact((tx) => {
        for (let index = 0; index < rows; index++) tx.set(documents.title, `row ${index}`, "x");
      }),
    );
    let shown = "";
    using _ = vi.spyOn(Progress.prototype, "show").mockImplementationOnce((text) => {
      shown = text();
      command.signal("SIGINT");
    });
    const command = cli.start(["backfill", "data", "app.mjs", "sizes"]);
    expect(await command.outcome).toMatchObject({ code: 130 });
    expect(shown).toMatch(/^\d+ cells marked, /);
    const { documents: reports } = await cli.run(["backfill", "data", "app.mjs", "sizes", "--json"]);
    expect(reports[0]).toMatchObject({ continued: true });
    expect(await pending()).toHaveLength(rows + 3);
  });

  it.each([
    [["nobody"], "the module has no observer", 2],
    [["scores"], "watches a signal", 2],
    [["times", "--start", "home"], "home", 2],
  ])("refuses %j", async (args, message, exit) => {
    const { code, stderr } = await cli.run(["backfill", "data", "app.mjs", ...args]);
    expect(code).toBe(exit);
    expect(stderr.toLowerCase()).toContain(message);
    expect(await pending()).toEqual([]);
  });
});
