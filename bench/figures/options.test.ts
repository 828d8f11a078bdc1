import { CommanderError } from "commander";
import { afterEach, describe, expect, test, vi } from "vitest";
import { figures } from "./all/index.js";
import { commandLine, madeWith } from "./measure.js";
import { parseOptions } from "./options.js";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the options of npm run figures", () => {
  test("measure everything, small, into the documentation, where nothing is said", () => {
    expect(parseOptions([], figures)).toEqual({
      size: "small",
      only: [],
      archives: [],
      from: [],
      out: undefined,
      list: false,
    });
  });

  test("take figures and archives several times, and files of results in a row", () => {
    const args =
      "--full --only delay --only oracle --archive a.warc --archive b.warc --from c.json d.json --out there";
    expect(parseOptions(args.split(" "), figures)).toEqual({
      size: "full",
      only: ["delay", "oracle"],
      archives: ["a.warc", "b.warc"],
      from: ["c.json", "d.json"],
      out: "there",
      list: false,
    });
  });

  test.each([["--only", "nothing"], ["--fast"], ["delay"]])("refuse %s %s", (...args) => {
    vi.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(() => parseOptions(args.filter(Boolean), figures)).toThrow(CommanderError);
  });

  test("tell of every figure in the help", () => {
    let help = "";
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      help += String(text);
      return true;
    });
    expect(() => parseOptions(["--help"], figures)).toThrow(CommanderError);
    for (const { name, about } of figures) expect(help).toContain(`${name.padEnd(15)}${about}`);
    expect(help).toContain("Examples:");
  });
});

test("what needs web archives is made where there are enough", () => {
  const measurement = {
    name: "made",
    script: "recrawl",
    args: { small: [], full: [] },
    minutes: { small: 1, full: 2 },
  };
  const ofArchives = { ...measurement, name: "archives", archives: "all" as const, minArchives: 2 };
  const made = (...archives: string[]) =>
    madeWith([measurement, ofArchives], archives).map(({ name }) => name);
  expect(made()).toEqual(["made"]);
  expect(made("a.warc")).toEqual(["made"]);
  expect(made("a.warc", "b.warc")).toEqual(["made", "archives"]);
});

describe("the command line of a measurement", () => {
  const measurement = {
    name: "lmdb",
    script: "recrawl",
    args: { small: ["--changes", "1"], full: [] },
    minutes: { small: 1, full: 2 },
  };

  test("is what one would type, at its size", () => {
    expect(commandLine(measurement, "small", [])).toBe("npm run recrawl -- --changes 1");
    expect(commandLine(measurement, "full", [])).toBe("npm run recrawl");
  });

  test("has the archives that it takes, without the folders in which they are here", () => {
    const archives = ["/here/a.warc.gz", "/here/b.warc.gz"];
    const line = (taken: "one" | "all" | undefined) =>
      commandLine({ ...measurement, archives: taken }, "full", archives);
    expect(line(undefined)).toBe("npm run recrawl");
    expect(line("one")).toBe("npm run recrawl -- a.warc.gz");
    expect(line("all")).toBe("npm run recrawl -- a.warc.gz b.warc.gz");
  });
});
