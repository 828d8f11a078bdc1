import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { gzipEach, http, page, warcRecord } from "../../examples/webindex/sources/testing/archive.js";
import { temporaryFolder } from "../../test/support/databases.js";
import type { RecrawlResult } from "./figure.js";

const pages = 20;
const urlOf = (index: number) => `https://example.org/${index}`;
const pageOf = (index: number, version: number) =>
  page(
    urlOf(index),
    `<!doctype html><title>Page ${index}</title><p>version ${version} <a href="${urlOf((index + 1) % pages)}">next</a></p>`,
  );

test("npm run recrawl: the index is updated with less work than a rebuild, and equals the twin", async () => {
  const folder = await temporaryFolder();
  try {
    const archives = ["1", "2"].map((name) => join(folder.path, `${name}.warc.gz`));
    await writeFile(archives[0]!, gzipEach(Array.from({ length: pages }, (_, index) => pageOf(index, 1))));
    const gone = warcRecord({ url: urlOf(3), block: http("gone", {}, 404) });
    await writeFile(archives[1]!, gzipEach([pageOf(0, 2), pageOf(1, 1), gone]));
    const json = join(folder.path, "recrawl.json");
    const script = fileURLToPath(new URL("./main.ts", import.meta.url));
    const args = ["--import", "tsx", script, "--json", json, ...archives];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    expect(await once(child, "exit")).toEqual([0, null]);
    const { first, crawls } = JSON.parse(await readFile(json, "utf8")) as RecrawlResult;
    expect(first).toMatchObject({ name: "1.warc.gz", pages, load: { added: pages, wrong: 0 } });
    expect(crawls).toMatchObject([
      {
        name: "2.warc.gz",
        pages: pages - 1,
        update: { added: 0, changed: 1, unchanged: 1, deleted: 1, wrong: 0, problems: [] },
        insert: { added: 1, changed: 0, unchanged: 1, deleted: 1, wrong: 0, problems: [] },
        load: { added: pages - 1, changed: 0, deleted: 0, wrong: 0, problems: [] },
      },
    ]);
    const { update, load, rebuild } = crawls[0]!;
    expect(update.runs).toBeLessThan(load.runs);
    expect(update.cells).toBeLessThan(load.cells);
    expect(rebuild.seconds).toBeGreaterThan(0);
  } finally {
    await folder.remove();
  }
}, 600_000);
