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
      pipelines: ["compute", "minhash", "webindex"],
      processes: 2,
      rounds: 3,
      pages: 4_000,
      functions: [2_048, 16_384],
      concurrency: 64,
      source: undefined,
      wait: 0,
      data: undefined,
      json: undefined,
      node: [],
    });
  });

  test("takes a source, and pipelines in their order", () => {
    const options = parseOptions(["crawl.warc.gz", "--pipelines", "webindex,compute", "--wait", "30"]);
    expect(options).toMatchObject({
      source: "crawl.warc.gz",
      pipelines: ["webindex", "compute"],
      wait: 30,
    });
  });

  test.each([
    ["--pipelines", "webindex,other"],
    ["--processes", "0"],
    ["--pages", "-3"],
    ["--functions", "2048,0"],
    ["--wait", "soon"],
  ])("refuses %s %s", (option, value) => {
    expect(() => parseOptions([option, value])).toThrow(CommanderError);
    expect(printed).toContain(option);
  });

  test("--help shows pipelines and examples", () => {
    expect(() => parseOptions(["--help"])).toThrow(CommanderError);
    expect(printed).toContain("compute   no database");
    expect(printed).toContain("$ npm run scaling -- crawl.warc.gz");
  });
});
