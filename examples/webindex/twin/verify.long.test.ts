import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { open } from "percolatordb";
import { expect, it, onTestFinished } from "vitest";
import { packContents } from "../contents.js";
import { Scratch } from "../sources/testing/files.js";
import { documents, tables } from "../tables.js";
import { page, seeded } from "../testing/site.js";
import type { VerifyAnswer } from "./verify.js";

const child = fileURLToPath(new URL("./child.ts", import.meta.url));
const tsconfig = fileURLToPath(new URL("../../../tsconfig.json", import.meta.url));

/** Enough for the program itself, but a twin in memory (`batch.ts`) would overflow this heap. */
const heapMegabytes = 64;
const pages = 600;
const batch = 100;

it("compares an index whose tables, built from scratch, are larger than the heap", async () => {
  await using scratch = await Scratch.make();
  const location = join(scratch.path, "data");
  await load(location);
  const answer = await compare(location);
  if ("failure" in answer) throw new Error(answer.failure);
  const found = Object.fromEntries(answer.verdicts.map((verdict) => [verdict.table, verdict]));
  // No observer has run, so every cell of the twin differs. All cells were built and compared.
  for (const { cells, different } of answer.verdicts) expect(different).toBe(cells);
  expect(found).toMatchObject({ documents: { rows: pages }, clusters: { rows: pages } });
  expect(found.links!.cells).toBeGreaterThan(10 * pages);
});

/**
 * Loads pages with many terms and links, without indexing them. The twin's work is the same, and
 * the test is faster.
 */
async function load(location: string): Promise<void> {
  const random = seeded(1);
  const url = (number: number) => `https://example.org/${number}`;
  const text = (words: number) => Array.from({ length: words }, () => `w${random(60_000)}`).join(" ");
  await using db = await open(location, { tables, durability: "none" });
  for (let from = 0; from < pages; from += batch) {
    await db.transact(async (tx) => {
      for (let number = from; number < from + batch; number++) {
        const links = Object.fromEntries(Array.from({ length: 20 }, () => [url(random(pages)), text(3)]));
        const body = Buffer.from(page(`Page ${number}`, text(900), links));
        tx.set(documents.contents, url(number), packContents({ contentType: "text/html", body }));
      }
    });
  }
}

/** Like `verifyIndex`, with less heap. */
async function compare(location: string): Promise<VerifyAnswer> {
  const running = fork(child, [location], {
    execArgv: ["--import", import.meta.resolve("tsx"), `--max-old-space-size=${heapMegabytes}`],
    env: { ...process.env, TSX_TSCONFIG_PATH: tsconfig },
  });
  onTestFinished(() => void running.kill("SIGKILL"));
  let answer: VerifyAnswer | undefined;
  running.once("message", (message) => {
    answer = message as VerifyAnswer;
  });
  const [code, killedBy] = (await once(running, "exit")) as [number | null, string | null];
  return answer ?? { failure: `Its process ended by ${killedBy ?? `exit code ${code}`}` };
}
