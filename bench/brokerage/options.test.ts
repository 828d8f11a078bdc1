import { CommanderError } from "commander";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { parseOptions } from "./options.js";

describe("parseOptions", () => {
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

  test("has defaults for everything", () => {
    expect(parseOptions([])).toEqual({
      processes: 2,
      rounds: 3,
      transactions: 60_000,
      ahead: 500,
      clients: 64,
      concurrency: 32,
      store: "lmdb",
      wait: 0,
      data: undefined,
      json: undefined,
      node: [],
    });
  });

  test("fewer transactions go to Bigtable's emulator, unless it is said how many", () => {
    expect(parseOptions(["--store", "bigtable"])).toMatchObject({ store: "bigtable", transactions: 3_000 });
    expect(parseOptions(["--store", "bigtable", "--transactions", "7"])).toMatchObject({ transactions: 7 });
  });

  test("takes flags for the processes, in their order", () => {
    expect(parseOptions(["--node=--cpu-prof", "--node", "--trace-gc"]).node).toEqual([
      "--cpu-prof",
      "--trace-gc",
    ]);
  });

  test.each([
    ["--processes", "0"],
    ["--rounds", "1.5"],
    ["--transactions", "many"],
    ["--ahead", "0"],
    ["--wait", "-1"],
    ["--store", "redis"],
  ])("refuses %s %s", (option, value) => {
    expect(() => parseOptions([option, value])).toThrow(CommanderError);
    expect(printed).toContain(option);
  });

  test("--help shows examples", () => {
    expect(() => parseOptions(["--help"])).toThrow(CommanderError);
    expect(printed).toContain("$ npm run brokerage -- --store bigtable");
  });
});
