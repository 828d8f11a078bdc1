import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
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
