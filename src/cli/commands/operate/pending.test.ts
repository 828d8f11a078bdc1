import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, visits, withLibrary } from "../../../../test/support/library.js";
import { observer } from "../../../observer/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
  const observers = [
    observer("titles", documents.title, () => undefined),
    observer("anchors", documents.anchors, () => undefined),
    observer("visits", visits.seconds, () => undefined),
  ];
  await withLibrary(
    cli,
    (db) =>
      db.transact((tx) => {
        tx.set(documents.title, "a", "Alpha 2");
        tx.set(documents.anchors.at("q"), "b\n", "new");
        tx.set(visits.seconds, ["home", 9], 1);
      }),
    { observers },
  );
});

describe("pending", () => {
  it("lists due changes", async () => {
    const { code, documents: changes } = await cli.run(["pending", "data", "--json"]);
    expect(code).toBe(0);
    expect(changes).toEqual([
      expect.objectContaining({ observer: "anchors", column: "anchors", qualifier: "q", row: "b\n" }),
      expect.objectContaining({
        observer: "titles",
        column: "title",
        qualifier: null,
        row: "a",
        attempts: 0,
      }),
      expect.objectContaining({ observer: "visits", table: "visits", row: '["home",9]', notBefore: null }),
    ]);
    const { lines, stderr } = await cli.run(["pending", "data"]);
    expect(lines.map((line) => line.replace(/for .*/, "for"))).toEqual([
      "anchors  documents.anchors:q  b\\n  for",
      "titles  documents.title  a  for",
      'visits  visits.seconds  ["home",9]  for',
    ]);
    expect(stderr).toBe("note: 3 changes\n");
  });

  it("lists up to a limit, or for one observer", async () => {
    expect((await cli.run(["pending", "data", "--limit", "2", "--json"])).documents).toHaveLength(2);
    const { documents: changes } = await cli.run(["pending", "data", "--observer", "titles", "--json"]);
    expect(changes.map((change) => change.observer)).toEqual(["titles"]);
  });

  it("refuses an observer that is not registered", async () => {
    const { code, stderr } = await cli.run(["pending", "data", "--observer", "nobody"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/"nobody".*anchors, titles, visits.*\(OBSERVER\)/);
  });

  it("lists nothing if nothing is due", async () => {
    const quiet = await libraryCommandLine();
    expect(await quiet.run(["pending", "data"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "note: nothing is pending\n",
    });
  });
});
