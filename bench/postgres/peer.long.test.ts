import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { gzipEach, page } from "../../examples/webindex/sources/testing/archive.js";
import { temporaryFolder } from "../../test/support/databases.js";
import type { PeerResult } from "./figure.js";
import { postgresIsInstalled } from "./installed.js";

const pages = 60;
const pagesAgain = 20;
const urlOf = (index: number) => `https://example.org/${index}`;

/** The first `count` pages, as a crawl found them. */
function archive(crawl: string, count: number): Buffer {
  return gzipEach(
    Array.from({ length: count }, (_, index) => {
      const links = [1, 2, 3].map((step) => `<a href="${urlOf((index * step + 1) % pages)}">to ${step}</a>`);
      // Every tenth page is a duplicate of another.
      const text = index % 10 === 9 ? "the same" : `${crawl} ${index} of ${index % 7} ${links.join(" ")}`;
      return page(urlOf(index), `<!doctype html><title>Page ${index % 10}</title><p>${text}</p>`);
    }),
  );
}

test.skipIf(!postgresIsInstalled())(
  "npm run peer: all sides equal the twin, also after kills",
  async () => {
    const folder = await temporaryFolder();
    try {
      const paths = [join(folder.path, "first.warc.gz"), join(folder.path, "second.warc.gz")];
      await writeFile(paths[0]!, archive("page", pages));
      await writeFile(paths[1]!, archive("the page again", pagesAgain));
      const json = join(folder.path, "peer.json");
      const script = fileURLToPath(new URL("./main.ts", import.meta.url));
      const args = ["--import", "tsx", script, "--quick", "--seconds", "1", "--json", json, ...paths];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
      expect(await once(child, "exit")).toEqual([0, null]);
      const report = JSON.parse(await readFile(json, "utf8")) as PeerResult;
      const came = pages + pagesAgain;
      expect(report.pages).toBe(came);
      expect(report.rebuild.pagesPerSecond).toBeCloseTo(came / report.rebuild.seconds, 6);
      for (const side of [report.percolator, report.onServer, report.postgres]) {
        expect(side).toMatchObject({ wrong: 0, problems: [] });
        expect(side.delayMs.p5).toBeGreaterThan(0);
        expect(side.delayMs.p95).toBeGreaterThanOrEqual(side.delayMs.p5);
        expect(side.afterKill.map(({ killed }) => killed)).toEqual(["one worker", "all processes"]);
        for (const { wrong, unlocked } of side.afterKill) expect(unlocked?.wrong ?? wrong).toBe(0);
      }
      const rate = (side: "percolator" | "onServer" | "postgres") => report[side].pagesPerSecond.median;
      expect(report.ratio.median).toBeCloseTo(rate("percolator") / rate("postgres"), 6);
      expect(report.onServerRatio.median).toBeCloseTo(rate("onServer") / rate("postgres"), 6);
    } finally {
      await folder.remove();
    }
  },
  600_000,
);
