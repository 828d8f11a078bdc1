import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { gzipEach, page } from "../../examples/webindex/sources/testing/archive.js";
import { temporaryFolder } from "../../test/support/databases.js";
import type { DiskResult } from "./figure.js";

const pageOf = (index: number) =>
  page(
    `https://example.org/${index}`,
    `<!doctype html><title>Page ${index}</title><p>${"the same words ".repeat(1_000)}`,
  );

test("npm run disk: the plain index has the same pages and more bytes, and both equal the twin", async () => {
  const folder = await temporaryFolder();
  try {
    const archive = join(folder.path, "1.warc.gz");
    await writeFile(archive, gzipEach(Array.from({ length: 20 }, (_, index) => pageOf(index))));
    const json = join(folder.path, "disk.json");
    const script = fileURLToPath(new URL("./main.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", script, "--json", json, archive], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    expect(await once(child, "exit")).toEqual([0, null]);
    const { crawls, plain, wrong } = JSON.parse(await readFile(json, "utf8")) as DiskResult;
    expect(wrong).toBe(0);
    const [first, asItIs] = [crawls[0]!, plain![0]!];
    expect([first.pages, asItIs.pages]).toEqual([20, 20]);
    expect(asItIs.bodyBytes).toBe(first.bodyBytes);
    // A body has 15 kB, and next to nothing once it is compressed.
    expect(asItIs.bytes - first.bytes).toBeGreaterThan(20 * 10_000);
    expect(asItIs.written).toBeGreaterThan(first.written);
  } finally {
    await folder.remove();
  }
}, 600_000);
