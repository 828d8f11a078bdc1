import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { limits, PercolatorError } from "percolatordb";
import * as recipes from "percolatordb/recipes";
import { describe, expect, test } from "vitest";
import * as errors from "../../src/errors/index.js";
import { root } from "./examples.js";
import { Surface } from "./surface.js";

/** Compares reference pages with the code. */

const surface = new Surface();
const page = (name: string) => readFile(join(root, "docs", name), "utf8");
const cellsOf = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

describe("the public surface", () => {
  test("has a doc comment for every name", () => {
    const exported = surface.exported();
    expect(exported.length).toBeGreaterThan(300);
    const bare = exported.filter(({ comment }) => comment === "");
    expect(bare.map(({ specifier, name }) => `${specifier}: ${name}`)).toEqual([]);
  });
});

describe("docs/errors.md", () => {
  interface Row {
    readonly name: string;
    readonly code: string;
    readonly again: string;
    readonly when: string;
    readonly advice: string;
  }

  async function rows(heading: string): Promise<readonly Row[]> {
    const text = await page("errors.md");
    const from = text.indexOf(heading);
    const part = text.slice(from, text.indexOf("\n## ", from + heading.length));
    return part
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .map((line) => {
        const [error = "", again = "", when = "", advice = ""] = cellsOf(line);
        const [name = "", code = ""] = error.replaceAll("`", "").split("<br>");
        return { name, code, again, when, advice };
      });
  }

  /** Returns the error classes among some exports, as rows. */
  function classes(exported: object): readonly Pick<Row, "name" | "code" | "again">[] {
    return Object.entries(exported).flatMap(([name, value]) => {
      if (typeof value !== "function" || !(value.prototype instanceof PercolatorError)) return [];
      const error = new value("", {}, "") as PercolatorError;
      return { name, code: error.code, again: error.retryable ? "yes" : "no" };
    });
  }

  const plain = ({ name, code, again }: Row) => ({ name, code, again });
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => a.name.localeCompare(b.name);

  test("lists every class with its code", async () => {
    const found = await rows("# Errors");
    expect(found.map(plain).sort(byName)).toEqual([...classes(errors)].sort(byName));
    for (const { name, when, advice } of found)
      expect([name, when.length > 20, advice.length > 15]).toEqual([name, true, true]);
  });

  test("lists the errors of recipes", async () => {
    const found = await rows("## Errors of recipes");
    expect(found.map(plain).sort(byName)).toEqual([...classes(recipes)].sort(byName));
  });
});

describe("docs/options.md", () => {
  test("lists every option as in the types (`npx vitest run -u` writes the tables)", async () => {
    const text = await page("options.md");
    const named = [...text.matchAll(/<!-- options: (\w+) -->/g)].map(([, name]) => name!);
    expect(named).toContain("OpenOptions");
    const written = text.replace(/<!-- options: (\w+) -->\n[\s\S]*?<!-- end -->/g, (_, name: string) => {
      const members = surface.members(name);
      expect(
        members.filter(({ comment }) => comment === "").map((member) => `${name}.${member.name}`),
      ).toEqual([]);
      const lines = members.map((member) => `| \`${member.name}\` | ${inTable(member.comment)} |`);
      return `<!-- options: ${name} -->\n${["| option | |", "| --- | --- |", ...lines].join("\n")}\n<!-- end -->`;
    });
    await expect(written).toMatchFileSnapshot(join(root, "docs/options.md"));
  });

  const inTable = (comment: string) =>
    comment
      .replaceAll("|", "\\|")
      .replaceAll(/\{@link ([\w.]+)\}/g, "`$1`")
      .replaceAll("<", "&lt;");
});

describe("docs/limits.md", () => {
  test("lists the limits that the package exports, with their numbers", async () => {
    const text = await page("limits.md");
    for (const [name, value] of Object.entries(limits)) {
      const line = text.split("\n").find((each) => each.includes(`\`limits.${name}\``));
      expect(line, name).toContain(` ${value.toLocaleString("en-US")} `);
    }
  });
});

describe("docs/glossary.md", () => {
  test("has every term of the protocol as a heading, once, with its meaning below", async () => {
    const text = await page("glossary.md");
    const headings = [...text.matchAll(/^### (.+)\n\n(.+)$/gm)].map(([, heading]) => heading!.toLowerCase());
    expect(new Set(headings).size).toBe(headings.length);
    expect(headings.length).toBe([...text.matchAll(/^### /gm)].length);
    expect(headings).toEqual(
      expect.arrayContaining([
        ...["row", "column", "cell", "family", "start timestamp", "commit timestamp", "primary", "lock"],
        ...["write record", "notification", "acknowledgment", "observer", "safepoint", "hint", "signal"],
        ...["worker", "coordinator", "oracle", "snapshot", "parked", "backfill", "retention", "conflict"],
      ]),
    );
  });
});
