import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { blocksOf, root } from "./examples.js";
import { allPages } from "./pages.js";
import { Reader } from "./reader.js";
import { stories } from "./story.js";

/**
 * Runs the commands of each page in their order. Other tests follow the stories and docs/operations.md word for
 * word, and run the commands that need a coordinator or Bigtable.
 */
const followed = [...stories, "docs/operations.md"];
const needsCluster = /^percolator coordinator|bigtable:/;
/** A reference: the commands of a section do not continue those of the section before. */
const reference = "docs/command-line.md";

/** Commands that end with another exit code than 0 on the databases of {@link Reader}. */
const codes: Readonly<Record<string, number>> = {
  // It only says what would be forgotten.
  "percolator unregister ./data cluster": 1,
  // The line before has done it.
  "percolator unregister ./data cluster --yes --json": 2,
  // No load was interrupted.
  "percolator loads ./data --discard first-crawl": 1,
  // No worker runs, and the server of the tests does not flush.
  "percolator doctor ./data": 1,
  "percolator doctor ./data ./app.ts": 1,
  "percolator doctor 'postgres://app@localhost/shop?schema=search' ./app.ts": 1,
  "percolator doctor 'postgres://app@db.internal/shop?schema=search' APP --write": 1,
  // The database is not empty.
  "percolator import ./data backup.jsonl.gz --app ./app.ts": 1,
};

interface Shown {
  readonly command: string;
  readonly line: number;
  readonly heading: string;
}

/** The commands of `percolator` on a page, without those of a cluster. */
async function shownOn(page: string): Promise<readonly Shown[]> {
  return blocksOf(await readFile(join(root, page), "utf8"))
    .filter(({ language, isShownOnly }) => language === "sh" && !isShownOnly)
    .flatMap(({ body, line, heading }) =>
      body.split("\n").flatMap((text, index) => {
        const code = text.replace(/\s+#.*$/, "");
        if (needsCluster.test(code)) return [];
        return code
          .split(" && ")
          .map((command) => ({ command: command.trim(), line: line + 1 + index, heading }));
      }),
    )
    .filter(({ command }) => /^(npx )?percolator [a-z]/.test(command));
}

const pages = (await allPages()).filter((page) => !followed.includes(page));
const cases = (
  await Promise.all(
    pages.map(async (page) => {
      const shown = await shownOn(page);
      if (page !== reference) return [{ name: page, page, shown }];
      return [...new Set(shown.map(({ heading }) => heading))].map((heading) => {
        return { name: `${page}, ${heading}`, page, shown: shown.filter((each) => each.heading === heading) };
      });
    }),
  )
)
  .flat()
  .filter(({ shown }) => shown.length > 0);

test.each(cases)("the commands of $name run", async ({ page, shown }) => {
  await using reader = await Reader.create();
  for (const { command, line } of shown) {
    await reader.run(command, { code: codes[command], where: `${page}:${line}` });
  }
});

test("the commands of many pages are run, and those with another exit code are on a page", () => {
  const commands = cases.flatMap(({ shown }) => shown.map(({ command }) => command));
  expect(commands.length).toBeGreaterThan(100);
  expect(Object.keys(codes).filter((command) => !commands.includes(command))).toEqual([]);
});
