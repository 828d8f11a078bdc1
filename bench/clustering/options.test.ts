import { CommanderError } from "commander";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { parseOptions } from "./options.js";

let printed = "";

beforeEach(() => {
  printed = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text: unknown) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => vi.restoreAllMocks());

test("takes lists of documents and rates, and where batches are", () => {
  expect(parseOptions(["--documents", "10,20", "--rates", "0.1,100", "--batch", "bare"])).toMatchObject({
    documents: [10, 20],
    rates: [0.1, 100],
    batches: ["bare LMDB"],
  });
});

test.each([
  ["--rates", "1,101"],
  ["--rates", "0"],
  ["--documents", "many"],
  ["--batch", "elsewhere"],
])("refuses %s %s", (option, value) => {
  expect(() => parseOptions([option, value])).toThrow(CommanderError);
  expect(printed).toContain(option);
});
