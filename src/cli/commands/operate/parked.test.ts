import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, visits, withLibrary } from "../../../../test/support/library.js";
import { observer } from "../../../observer/index.js";

let cli: CommandLine;

const failing = (name: string) =>
  observer(
    name,
    documents.title,
    (_, { row }) => {
      throw new RangeError(`${name} cannot do ${row}`);
    },
    { attempts: 1 },
  );

beforeEach(async () => {
  cli = await libraryCommandLine();
  await withLibrary(
    cli,
    async (db) => {
      await db.transact((tx) => {
        tx.set(documents.title, "a", "Alpha 2");
        tx.set(documents.title, "b", "Beta 2");
      });
      await db.drain();
    },
    { observers: [failing("one"), failing("two")] },
  );
});

const parked = async (...args: string[]) => {
  const { code, documents: changes } = await cli.run(["parked", "data", ...args, "--json"]);
  expect(code).toBe(0);
  return changes.map(({ observer: name, row }) => `${name} ${row}`);
};
const pending = async () =>
  (await cli.run(["pending", "data", "--json"])).documents.map(({ observer: name, row }) => `${name} ${row}`);

describe("parked", () => {
  it("lists parked changes, with the error", async () => {
    const { documents: changes } = await cli.run(["parked", "data", "--json"]);
    expect(changes[0]).toMatchObject({
      observer: "one",
      table: "documents",
      column: "title",
      qualifier: null,
      row: "a",
      attempts: 1,
      error: { name: "RangeError", message: "one cannot do a", stack: expect.stringContaining("RangeError") },
    });
    expect(changes).toHaveLength(4);
    const { lines, stderr } = await cli.run(["parked", "data", "--limit", "1"]);
    expect(lines[0]).toBe("one  documents.title  a");
    expect(lines[1]).toMatch(/^ {2}1 attempt, parked .* ago \(.*Z\)$/);
    expect(lines[2]).toBe("  RangeError: one cannot do a");
    expect(stderr).toBe("note: 1 change\n");
  });

  it("can be filtered", async () => {
    expect(await parked("--observer", "two")).toEqual(["two a", "two b"]);
    expect(await parked("--row", "b")).toEqual(["one b", "two b"]);
    expect(await parked("--table", "visits")).toEqual([]);
  });

  it("takes a composite row in any form of JSON, as other commands do", async () => {
    const seconds = observer("seconds", visits.seconds, () => Promise.reject(new Error("no")), {
      attempts: 1,
    });
    await withLibrary(
      cli,
      async (db) => {
        await db.transact((tx) => tx.set(visits.seconds, ["home", 1], 7));
        await db.drain();
      },
      { observers: [seconds] },
    );
    expect(await parked("--row", '["home", 1]')).toEqual(['seconds ["home",1]']);
    const wrong = await cli.run(["parked", "data", "--table", "visits", "--row", "home", "--discard"]);
    expect(wrong).toMatchObject({ code: 2 });
    expect(await parked("--table", "visits", "--row", '[ "home",1 ]', "--discard")).toHaveLength(1);
    expect(await parked("--table", "visits")).toEqual([]);
  });

  it("can be filtered by a part of the error", async () => {
    expect(await parked("--error", "ONE cannot do A")).toEqual(["one a"]);
    expect(await parked("--error", "no such text")).toEqual([]);
    expect(await parked("--error", "two cannot", "--discard")).toEqual(["two a", "two b"]);
    expect(await parked()).toEqual(["one a", "one b"]);
  });

  it("lists kinds of errors", async () => {
    const { documents: kinds } = await cli.run(["parked", "data", "--group", "--json"]);
    expect(kinds).toHaveLength(4);
    const { lines, stderr } = await cli.run(["parked", "data", "--group", "--error", "one cannot do a"]);
    expect(lines[0]).toMatch(/^one {2}1 change, the last parked .* ago, the first .* ago$/);
    expect(lines.slice(1, 3)).toEqual(["  RangeError: one cannot do a", "  such as a"]);
    expect(stderr).toBe("note: 1 change, 1 kind of error\n");
    const wrong = await cli.run(["parked", "data", "--group", "--retry"]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--group only lists")]);
  });

  it("counts changes whose errors differ only in numbers as one kind", async () => {
    await withLibrary(
      cli,
      async (db) => {
        await db.transact((tx) => {
          for (const row of ["r1", "r2", "r3"]) tx.set(documents.title, row, "Gamma");
        });
        await db.drain();
      },
      { observers: [failing("one"), failing("two")] },
    );
    const { documents: kinds } = await cli.run(["parked", "data", "--group", "--json", "--observer", "two"]);
    expect(kinds).toContainEqual({
      observer: "two",
      error: "RangeError: two cannot do r#",
      count: 3,
      first: expect.stringMatching(/Z$/),
      last: expect.stringMatching(/Z$/),
      rows: expect.arrayContaining(["r1", "r2", "r3"]),
    });
  });

  it("makes the selected changes due again", async () => {
    const { code, documents: changes } = await cli.run(["parked", "data", "--row", "a", "--retry", "--json"]);
    expect(code).toBe(0);
    expect(changes.map(({ observer: name, done }) => [name, done])).toEqual([
      ["one", true],
      ["two", true],
    ]);
    expect(await pending()).toEqual(["one a", "two a"]);
    expect(await parked()).toEqual(["one b", "two b"]);
  });

  it("discards the selected changes", async () => {
    const { stderr } = await cli.run(["parked", "data", "--observer", "one", "--discard"]);
    expect(stderr).toBe("note: 2 changes discarded\n");
    expect(await pending()).toEqual([]);
    expect(await parked()).toEqual(["two a", "two b"]);
    expect(await cli.run(["check", "data"])).toMatchObject({ code: 0 });
  });

  it.each([
    [["--retry", "--discard"], "either"],
    [["--observer", "nobody"], "nobody"],
    [["--table", "nowhere"], "nowhere"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await cli.run(["parked", "data", ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(await parked()).toHaveLength(4);
  });
});
