import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { gzipEach, http, page, warcRecord } from "../../examples/webindex/sources/testing/archive.js";
import { temporaryFolder } from "../../test/support/databases.js";
import type { CrawlsResult } from "./main.js";

const pages = 24;
const urlOf = (index: number) => `https://example.org/${index}`;

/**
 * The first crawl, with one page of more than a megabyte. In the second crawl some pages have
 * changed and one is gone.
 */
function crawl(number: 1 | 2): Buffer {
  const records = Array.from({ length: pages }, (_, index) => {
    if (number === 2 && index === 5) return warcRecord({ url: urlOf(5), block: http("gone", {}, 404) });
    const version = index % 4 === 0 ? number : 1;
    const filling = index === 8 ? `<!-- ${"long ".repeat(300_000)} -->` : "";
    const text = `page ${index} of version ${version} speaks of ${index % 7}${filling}`;
    const links = [1, 2].map((step) => `<a href="${urlOf((index * step + 1) % pages)}">to ${step}</a>`);
    return page(urlOf(index), `<!doctype html><title>Page ${index}</title><p>${text}</p>${links.join(" ")}`);
  });
  return gzipEach(records);
}

test("npm run crawls loads archives through two workers, and each result equals the twin", async () => {
  const folder = await temporaryFolder();
  try {
    const paths = [1, 2].map((number) => join(folder.path, `crawl-${number}.warc.gz`));
    for (const [index, path] of paths.entries()) await writeFile(path, crawl(index === 0 ? 1 : 2));
    const json = join(folder.path, "figures.json");
    const script = fileURLToPath(new URL("./main.ts", import.meta.url));
    const { BIGTABLE_EMULATOR_HOST: _, ...env } = process.env;
    const args = ["--import", "tsx", script, "--concurrency", "8", "--json", json, ...paths];
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
    expect(await once(child, "exit")).toEqual([0, null]);
    const { crawls, left } = JSON.parse(await readFile(json, "utf8")) as CrawlsResult;
    expect(left).toEqual([]);
    expect(crawls.map(({ loaded }) => [loaded.added, loaded.changed, loaded.deleted])).toEqual([
      [24, 0, 0],
      [0, 6, 1],
    ]);
    for (const { verdict, requests, runs } of crawls) {
      expect(verdict).toMatchObject({ wrong: 0, problems: [] });
      expect(verdict.cells).toBeGreaterThan(0);
      expect(runs.length).toBe(2);
      expect(requests.sent.read).toBeGreaterThan(0);
    }
    // Only the first crawl is checked. The second one is small, so it has few concurrent reads to
    // batch, and one read may take several requests.
    const { requests } = crawls[0]!;
    expect(requests.sent.read).toBeLessThan(requests.before.read);
  } finally {
    await folder.remove();
  }
});
