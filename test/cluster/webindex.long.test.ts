import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { expect, test, vi } from "vitest";
import { loadSource } from "../../examples/webindex/load/loader.js";
import { observers } from "../../examples/webindex/observers/index.js";
import { openSource } from "../../examples/webindex/sources/index.js";
import { gzipEach, http, page, warcRecord } from "../../examples/webindex/sources/testing/archive.js";
import { tables } from "../../examples/webindex/tables.js";
import { compareWithTwin } from "../../examples/webindex/twin/compare.js";
import { bigtableLocation, temporaryFolder } from "../support/databases.js";
import { startEmulator } from "../support/emulator/index.js";
import { ProgramProcess } from "../support/program-process.js";
import { patienceMs } from "../support/waiting.js";

const pages = 36;
/**
 * The most crawls to load. The test loads at least two, and then more until both workers have
 * committed runs.
 */
const maxCrawls = 7;
const urlOf = (index: number) => `https://example.org/${index}`;

/**
 * Returns the body of a page. Every sixth page has the same text and no links. The other pages have
 * three links each.
 */
function body(index: number, version: number): string {
  const text =
    index % 6 === 5 ? "a copy" : `page ${index} of version ${version} speaks of words ${index % 7}`;
  const links = [1, 2, 3].map((step) => `<a href="${urlOf((index * step + 1) % pages)}">to ${step}</a>`);
  return `<!doctype html><title>Page ${index % 6 === 5 ? "copied" : index}</title><p>${text}</p>${index % 6 === 5 ? "" : links.join(" ")}`;
}

/** Returns a crawl. After the first crawl a third of the pages has changed, and two are gone. */
function crawl(number: number): Buffer {
  const records = Array.from({ length: pages }, (_, index) => {
    const url = urlOf(index);
    if (number > 1 && index % 17 === 3) return warcRecord({ url, block: http("gone", {}, 404) });
    return page(url, body(index, index % 3 === 0 ? number : 1));
  });
  return gzipEach(records);
}

function startWorker(emulatorHost: string): ProgramProcess {
  const app = "examples/webindex/app.ts";
  const args = ["worker", bigtableLocation, app, "--json", "--concurrency", "8", "--metrics", "0"];
  return new ProgramProcess("src/cli/main.ts", args, { env: { BIGTABLE_EMULATOR_HOST: emulatorHost } });
}

interface Said {
  readonly event: string;
  readonly metrics?: string;
  readonly runs?: { readonly committed?: number };
}

function saidOf({ lines }: ProgramProcess, event: string): Said | undefined {
  return lines.map((line) => JSON.parse(line) as Said).find((said) => said.event === event);
}

/** Whether the worker has committed runs so far. */
async function hasRun(worker: ProgramProcess): Promise<boolean> {
  const metrics = await (await fetch(saidOf(worker, "started")!.metrics!)).text();
  return /^percolator_runs_total\{.*outcome="committed"\} [1-9]/m.test(metrics);
}

/** How many runs it committed, from its final output. */
const committedRuns = (worker: ProgramProcess) => saidOf(worker, "stopped")?.runs?.committed ?? 0;

test("the web index on Bigtable, derived by two workers, equals one built from scratch", async () => {
  const folder = await temporaryFolder();
  await using emulator = await startEmulator();
  const store = await openBigtableStore(bigtableLocation, { emulatorHost: emulator.host });
  // Registers the observers, so that the load before the start of the workers leaves hints. Runs
  // none of them.
  const db = await open(store, { tables, observers, collectEveryMs: 0, coordinator: "auto" });
  const workers = [startWorker(emulator.host), startWorker(emulator.host)];
  try {
    await Promise.all(workers.map((worker) => worker.said((line) => line.includes('"started"'))));
    const haveRun = async () => (await Promise.all(workers.map(hasRun))).every(Boolean);
    const sessions = async () => (await db.status()).sessions.size;
    await vi.waitFor(async () => expect(await sessions()).toBe(workers.length), { timeout: patienceMs });
    for (let number = 1; number <= 2 || (number <= maxCrawls && !(await haveRun())); number++) {
      const path = join(folder.path, `crawl-${number}.warc.gz`);
      await writeFile(path, crawl(number));
      const report = await loadSource(db, await openSource(path));
      expect([report.pages, report.problemCount]).toEqual([number === 1 ? pages : pages - 2, 0]);
      await db.idle({ signal: AbortSignal.timeout(4 * patienceMs) });
      await using snapshot = await db.snapshot();
      const verdicts = await compareWithTwin(snapshot);
      expect(verdicts.flatMap(({ differences }) => differences)).toEqual([]);
      expect(verdicts.every(({ cells }) => cells > 0)).toBe(true);
    }
    for await (const pending of db.pending()) expect(pending).toBeUndefined();
    for await (const lock of db.locks()) expect(lock).toBeUndefined();
    expect(await db.check()).toEqual([]);
    await Promise.all(workers.map((worker) => worker.terminate()));
    const runs = workers.map(committedRuns);
    expect(Math.min(...runs)).toBeGreaterThan(0);
  } finally {
    for (const worker of workers) await worker.kill();
    await db.close();
    await folder.remove();
  }
}, 600_000);
