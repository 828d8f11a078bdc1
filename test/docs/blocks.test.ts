import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandsOf, mistakeIn } from "./commands.js";
import { blocksOf, examplesOf, root } from "./examples.js";
import { allPages } from "./pages.js";
import { stories } from "./story.js";

/** Tests every block of a page, except those that are marked `ts no-run` or `sh no-run`. */

const pages = await Promise.all(
  (await allPages()).map(async (page) => ({ page, text: await readFile(join(root, page), "utf8") })),
);

/** The pages whose programs other tests run. */
const isRun = (page: string) => /^(README|docs\/(recipes\/)?[\w-]+)\.md$/.test(page);

test("every block of TypeScript is run, as an example or as a part of a story", () => {
  const left = pages.flatMap(({ page, text }) => {
    const shown = blocksOf(text).filter(
      ({ language, isShownOnly, title }) => language === "ts" && !isShownOnly && title === undefined,
    );
    const run = isRun(page) ? examplesOf(page, text).map(({ title }) => title) : [];
    return shown
      .filter(({ line }) => !run.some((title) => title.startsWith(`${page}, line ${line}:`)))
      .map(({ line }) => `${page}:${line}`);
  });
  expect(left).toEqual([]);
});

test("named blocks of a story are only on their pages", () => {
  const named = pages.filter(({ text }) => blocksOf(text).some(({ title }) => title !== undefined));
  expect(named.map(({ page }) => page)).toEqual(stories);
});

test("every block names its language", () => {
  const bare = pages
    .filter(({ page }) => isRun(page))
    .flatMap(({ page, text }) =>
      blocksOf(text).flatMap(({ language, line }) => (language === "" ? [`${page}:${line}`] : [])),
    );
  expect(bare).toEqual([]);
});

test("every command on a page exists: `percolator` with its arguments and options, scripts, paths", () => {
  let looked = 0;
  const wrong = pages.flatMap(({ page, text }) => {
    if (stories.includes(page)) return []; // All of their blocks are run.
    return blocksOf(text)
      .filter(({ language, isShownOnly }) => language === "sh" && !isShownOnly)
      .flatMap(({ body, line }) =>
        commandsOf(body).flatMap((command) => {
          looked++;
          const mistake = mistakeIn(command);
          return mistake === undefined ? [] : [`${page}:${line}: ${command}: ${mistake}`];
        }),
      );
  });
  expect(wrong).toEqual([]);
  expect(looked).toBeGreaterThan(80);
});

test("an invalid command is found", () => {
  expect(mistakeIn("percolator status ./data --no-such")).toBe("no option --no-such of status");
  expect(mistakeIn("npx percolator statsu ./data")).toBe("no command statsu");
  expect(mistakeIn("percolator get ./data documents")).toMatch(/^get takes 3 to 3 arguments/);
  expect(mistakeIn("npm run no-such")).toBe("no script no-such");
  expect(mistakeIn("docker ps")).toMatch(/no-run/);
});
