import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CommandPage } from "./page.js";

/**
 * The tests that follow pages take minutes and are not run with each change. These see when a page and
 * such a test no longer name the same commands.
 */

const quoted = (names: readonly string[]) =>
  names
    .map((name) => readFileSync(new URL(name, import.meta.url), "utf8"))
    .flatMap((source) => [...source.matchAll(/"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)'/g)])
    .map(([, double, single]) => double ?? single!);

test("the commands that the long test takes from docs/operations.md are there, and it leaves none out", () => {
  const page = new CommandPage("docs/operations.md");
  const names = ["operations.long.test.ts", "operated.ts"];
  const commands = quoted(names).filter((word) => /^(percolator|node|cat|cp) /.test(word));
  expect(commands.length).toBeGreaterThan(10);
  for (const command of commands) page.take(command);
  for (const source of names.map((name) => readFileSync(new URL(name, import.meta.url), "utf8")))
    for (const [, name] of source.matchAll(/\["([a-z]+)", /g)) page.ran(name!);
  expect(page.unused).toEqual([]);
});

test("the commands of a user's second week are on the pages that it names", () => {
  const words = quoted(["second-week.long.test.ts", "place.ts"]);
  const pages = [...new Set(words.filter((word) => /^docs\/[\w-]+\.md$/.test(word)))];
  const commands = words.filter((word) => /^(percolator|psql|pg_\w+)( |$)/.test(word));
  expect(commands.length).toBeGreaterThan(20);
  const shows = (page: string, command: string) => {
    try {
      return new CommandPage(page).take(command).length > 0;
    } catch {
      return false;
    }
  };
  expect(commands.filter((command) => !pages.some((page) => shows(page, command)))).toEqual([]);
});
