import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mutants } from "../exploration/mutants/index.js";
import { root } from "./examples.js";

/**
 * Comments cite docs/protocol.md. Its sections, invariants and mutants must be those of the code.
 */

const page = readFileSync(join(root, "docs/protocol.md"), "utf8");
const self = "test/docs/protocol.test.ts";

const folders = ["src", "test", "bench", "examples", "docs", "web", "scripts"];
const skipped = /(^|\/)(node_modules|figures|generated|dist|cache|histories)\/|^docs\/api\//;

interface TextFile {
  readonly path: string;
  /**
   * Lines of comments and paragraphs are joined, because a citation may be divided over two lines.
   */
  readonly text: string;
}

const files: readonly TextFile[] = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => `${folder}/${path}`),
  )
  .concat("README.md", "CHANGELOG.md")
  .filter((path) => /\.(ts|tsx|mjs|md|proto)$/.test(path) && !skipped.test(path) && path !== self)
  .map((path) => ({
    path,
    text: readFileSync(join(root, path), "utf8").replace(/\n\s*(\*|\/\/)?\s*/g, " "),
  }));

/** The numbers of the page's headings: "5", "5.2". */
const sections = new Set([...page.matchAll(/^##+ (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number!));

describe("docs/protocol.md", () => {
  test("has the nine sections, each subsection in its section and in order", () => {
    const tops = [...sections].filter((number) => !number.includes("."));
    expect(tops).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    const counts = new Map<string, number>();
    let section = "";
    for (const number of sections) {
      const [top = "", part] = number.split(".");
      if (part === undefined) section = top;
      else {
        const next = (counts.get(top) ?? 0) + 1;
        counts.set(top, next);
        expect([top, Number(part)], number).toEqual([section, next]);
      }
    }
  });

  test("has a heading for each citation in code and pages, and for its own", () => {
    const cited = files.flatMap(({ path, text }) =>
      [...text.matchAll(/\bprotocol §(\d+(?:\.\d+)*)/gi)].map(([, number]) => ({ path, number: number! })),
    );
    expect(cited.length).toBeGreaterThan(20);
    const own = [...page.matchAll(/§(\d+(?:\.\d+)*)/g)].map(([, number]) => ({
      path: "itself",
      number: number!,
    }));
    expect([...cited, ...own].filter(({ number }) => !sections.has(number))).toEqual([]);
  });

  test("is cited in no other form", () => {
    const others = files.flatMap(({ path, text }) =>
      [...text.matchAll(/\bPROTOCOL(?:\.md)?\b.{0,40}|\bprotocol(?:'s)?,? sections? \d.{0,20}/g)].map(
        ([found]) => `${path}: ${found}`,
      ),
    );
    expect(others).toEqual([]);
  });

  test("lists the invariants of the watcher, by number and name", () => {
    const source = files.find(({ path }) => /\/invariants\/violation\.ts$/.test(path))!;
    const inCode = [...source.text.matchAll(/\b(\d+): "([^"]+)",/g)].map(([, number, name]) => [
      number,
      name,
    ]);
    expect(inCode.length).toBeGreaterThan(10);
    const shown = rowsOf("8.1").map(([number, name]) => [number, name]);
    expect(shown).toEqual(inCode);
  });

  test("lists every name under which `check` reports a problem", () => {
    const source = files.find(({ path }) => path.endsWith("/maintenance/check.ts"))!;
    const [, union = ""] = /readonly invariant: ((?:\| "[\w-]+" ?)+);/.exec(source.text) ?? [];
    const inCode = [...union.matchAll(/"([\w-]+)"/g)].map(([, name]) => `\`${name}\``);
    expect(inCode).toContain("`one-lock`");
    expect(
      rowsOf("8.3")
        .map(([name]) => name)
        .sort(),
    ).toEqual(inCode.sort());
  });

  test("lists every mutant with the exploration that finds it, and no others", () => {
    const shown = ["9.1", "9.2", "9.3", "9.4", "9.5", "9.6", "9.7", "9.8", "9.9"]
      .flatMap(rowsOf)
      .map(([name, program]) => `${name} | ${program}`);
    expect(shown.sort()).toEqual(mutants.map(({ name, killedBy }) => `${name} | \`${killedBy}\``).sort());
  });
});

/** Returns the cells of the table in a section. */
function rowsOf(section: string): readonly (readonly string[])[] {
  const [, text = ""] = page.split(new RegExp(`^### ${section.replace(".", "\\.")} .*$`, "m"));
  const [table = ""] = text.split(/^##/m);
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
