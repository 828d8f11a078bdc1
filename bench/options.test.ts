import { CommanderError } from "commander";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { parseOptions } from "./options.js";

const cases = [
  { name: "reads", about: "point reads" },
  { name: "scans", about: "range scans" },
];

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
    expect(parseOptions([], cases)).toEqual({
      only: [],
      quick: false,
      cells: 100_000,
      rounds: 15,
      json: undefined,
      data: undefined,
      source: undefined,
    });
  });

  test("--quick measures less, and gives way to what is said", () => {
    expect(parseOptions(["--quick"], cases)).toMatchObject({ quick: true, cells: 20_000, rounds: 5 });
    expect(parseOptions(["--quick", "--rounds", "9"], cases)).toMatchObject({ cells: 20_000, rounds: 9 });
  });

  test("--only may be repeated", () => {
    expect(parseOptions(["--only", "scans", "--only", "reads"], cases).only).toEqual(["scans", "reads"]);
  });

  test("takes paths as they are", () => {
    const args = ["--json", "a.json", "--data", "folder", "--source", "crawl.warc.gz"];
    expect(parseOptions(args, cases)).toMatchObject({
      json: "a.json",
      data: "folder",
      source: "crawl.warc.gz",
    });
  });

  test.each([
    [["--only", "nothing"], "reads, scans"],
    [["--cells", "12"], "at least 2000"],
    [["--cells", "many"], "at least 2000"],
    [["--rounds", "0"], "at least 1"],
    [["--rounds", "1.5"], "at least 1"],
    [["--fast"], "unknown option"],
    [["reads"], "too many arguments"],
  ])("refuses %j", (args, message) => {
    expect(() => parseOptions(args, cases)).toThrow(CommanderError);
    expect(printed).toContain(message);
  });

  test("--help names the cases, and is no error", () => {
    let thrown: unknown;
    try {
      parseOptions(["--help"], cases);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ exitCode: 0 });
    expect(printed).toContain("point reads");
    expect(printed).toContain("exit code");
  });
});
