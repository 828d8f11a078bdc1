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
  expect(parseOptions([])).toEqual({ archives: [], changes: [1, 5, 25], json: undefined });
});

test("takes archives, shares and a file", () => {
  expect(parseOptions(["--changes", "0.5,100", "--json", "x.json"])).toMatchObject({
    changes: [0.5, 100],
    json: "x.json",
  });
  expect(parseOptions(["a", "b"]).archives).toEqual(["a", "b"]);
});

test.each([["a"], ["--changes", "0"], ["--changes", "1,101"], ["--changes", "1,"], ["--nonsense"]])(
  "refuses %s %s",
  (...args) => {
    expect(() => parseOptions(args)).toThrow(CommanderError);
    expect(printed).toContain("error:");
  },
);

test("explains itself with examples", () => {
  expect(() => parseOptions(["--help"])).toThrow(CommanderError);
  expect(printed).toContain("$ npm run recrawl -- --changes 1,50");
});
