import { CommanderError, InvalidArgumentError } from "commander";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  atLeast,
  between,
  type CommonOptions,
  list,
  oneOf,
  type Program,
  parseOptions,
  repeated,
  whole,
} from "./program.js";

interface Options extends CommonOptions {
  readonly rounds: number;
  readonly rates: readonly number[];
  readonly store: string;
  readonly wait: number;
  readonly only: readonly string[];
  readonly cells?: number;
}

const program: Program<Options, number> = {
  name: "measure",
  about: "Measures something.",
  examples: ["measure", "measure -- --rounds 9"],
  wrongIf: "something is wrong",
  define: (command) =>
    command
      .argument("[file...]", "files")
      .option("--rounds <n>", "rounds", whole, 3)
      .option("--rates <list>", "rates", list(between(0, 100)), [1, 10])
      .option("--store <name>", "store", oneOf(["lmdb", "bigtable"]), "lmdb")
      .option("--wait <n>", "wait", atLeast(0), 0)
      .option("--only <name>", "only", repeated(oneOf(["reads", "scans"])), []),
  complete(options) {
    if (options.args.length === 1) throw new InvalidArgumentError("One file has no next one.");
    return { cells: options.store === "lmdb" ? 1_000 : 10, ...options };
  },
  measure: () => Promise.resolve(1),
  describe: (result) => [String(result)],
  isRight: () => true,
};

const parse = (...args: readonly string[]) => parseOptions(program, args);

describe("the options of a program", () => {
  let printed = "";

  beforeEach(() => {
    printed = "";
    const keep = (text: unknown) => {
      printed += String(text);
      return true;
    };
    vi.spyOn(process.stdout, "write").mockImplementation(keep);
    vi.spyOn(process.stderr, "write").mockImplementation(keep);
  });

  afterEach(() => vi.restoreAllMocks());

  test("have defaults, some of which depend on other options", () => {
    expect(parse()).toEqual({
      rounds: 3,
      rates: [1, 10],
      store: "lmdb",
      wait: 0,
      only: [],
      args: [],
      cells: 1_000,
    });
    expect(parse("--store", "bigtable")).toMatchObject({ store: "bigtable", cells: 10 });
  });

  test("can be lists, repeated options, paths and ordered arguments", () => {
    const text = "--rates 0.1,50 --only scans --only reads --json a.json --data folder b.warc a.warc";
    expect(parse(...text.split(" "))).toMatchObject({
      rates: [0.1, 50],
      only: ["scans", "reads"],
      json: "a.json",
      data: "folder",
      args: ["b.warc", "a.warc"],
    });
  });

  test.each([
    ["--rounds 0", "at least 1"],
    ["--rounds 1.5", "at least 1"],
    ["--rounds many", "at least 1"],
    ["--wait -1", "at least 0"],
    ["--rates 0", "above 0"],
    ["--rates 1,101", "100 at the most"],
    ["--store redis", "lmdb, bigtable"],
    ["--only nothing", "reads, scans"],
    ["--fast", "unknown option"],
    ["a.warc", "One file has no next one."],
  ])("are refused: %s", (text, message) => {
    expect(() => parse(...text.split(" "))).toThrow(CommanderError);
    expect(printed).toContain(message);
  });

  test("have a help with examples and exit codes, which is not an error", () => {
    let thrown: unknown;
    try {
      parse("--help");
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ exitCode: 0 });
    expect(printed).toContain("$ npm run measure -- --rounds 9");
    expect(printed).toContain("1 if something is wrong, 2 for wrong usage");
  });
});
