import { CommanderError } from "commander";
import { afterEach, expect, test, vi } from "vitest";
import { parseOptions } from "./options.js";

afterEach(() => vi.restoreAllMocks());

test("draws nothing and writes nothing unless it is said where", () => {
  expect(parseOptions([])).toEqual({
    workers: 6,
    concurrency: 2,
    work: 300,
    phase: 20,
    svg: undefined,
    json: undefined,
  });
  const given = ["--svg", "recovery.svg", "--json", "recovery.json", "--phase", "5"];
  expect(parseOptions(given)).toMatchObject({ svg: "recovery.svg", json: "recovery.json", phase: 5 });
});

test("refuses what is no number", () => {
  vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  expect(() => parseOptions(["--workers", "0"])).toThrow(CommanderError);
});
