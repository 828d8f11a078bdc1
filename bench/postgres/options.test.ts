import { CommanderError } from "commander";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { parseOptions } from "./options.js";

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
    sources: [],
    rounds: 5,
    seconds: 20,
    processes: 1,
    workers: 2,
    concurrency: 4,
    quick: false,
    json: undefined,
  });
});

test("quick means fewer rounds and seconds, unless they are given", () => {
  expect(parseOptions(["--quick"])).toMatchObject({ quick: true, rounds: 1, seconds: 5 });
  expect(parseOptions(["--quick", "--rounds", "3"])).toMatchObject({ rounds: 3, seconds: 5 });
});

test("takes archives, workers, jobs and a file", () => {
  const args = [
    "--processes",
    "3",
    "--workers",
    "1",
    "--concurrency",
    "16",
    "--json",
    "peer.json",
    "a.warc.gz",
    "b.warc.gz",
  ];
  expect(parseOptions(args)).toMatchObject({
    sources: ["a.warc.gz", "b.warc.gz"],
    processes: 3,
    workers: 1,
    concurrency: 16,
    json: "peer.json",
  });
});

test.each([
  ["--rounds", "0"],
  ["--processes", "0"],
  ["--seconds", "1.5"],
  ["--workers", "two"],
  ["--nonsense"],
])("refuses %s %s", (...args) => {
  expect(() => parseOptions(args)).toThrow(CommanderError);
  expect(printed).toContain("error:");
});

test("explains itself with examples", () => {
  expect(() => parseOptions(["--help"])).toThrow(CommanderError);
  expect(printed).toContain("$ npm run peer -- --quick");
  expect(printed).toContain("exit code is 1");
});
