import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { gzipEach, page } from "../../examples/webindex/sources/testing/archive.js";
import { expectTwin, seeded } from "../../examples/webindex/testing/site.js";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { nodeArguments } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";

/** `PERCOLATOR_RUNS` multiplies the number of kills. */
const kills = 4 * Number(process.env.PERCOLATOR_RUNS ?? 1);
const pages = 120;
const root = fileURLToPath(new URL("../../", import.meta.url));
const random = seeded(7);

/**
 * Returns a crawl of a small site. Some pages have the same words. In each version, different pages
 * have changed or are missing.
 */
function crawl(version: number): Buffer {
  const url = (index: number) => `https://site.example/p${index}`;
  const records: Buffer[] = [];
  for (let index = 0; index < pages; index++) {
    if ((index + version) % 41 === 0) continue;
    const changed = (index * 7 + version) % 3 === 0 ? version : 0;
    const kin = index % 20 === 0 ? 0 : index;
    const links = Array.from({ length: 8 }, (_, link) => url((kin * 13 + link * link + changed) % pages));
    const anchors = links.map((link, at) => `<a href="${link}">anchor ${at} of ${kin}</a>`).join(" ");
    const words = Array.from({ length: 60 }, (_, word) => `word${(kin * 31 + word * word * 7) % 900}`).join(
      " ",
    );
    records.push(page(url(index), `<title>Page ${kin} v${changed}</title><p>${words} ${anchors}`));
  }
  return gzipEach(records);
}

function load(data: string, archive: string): ChildProcess {
  const main = join("examples", "webindex", "main.ts");
  return spawn(process.execPath, nodeArguments(main, ["--data", data, "--once", archive]), {
    cwd: root,
    stdio: "ignore",
  });
}

test(`killed ${kills} times while it loads, the database stays sound, and its final state equals the twin`, async () => {
  const folder = await temporaryFolder();
  try {
    const data = join(folder.path, "index");
    const archive = join(folder.path, "crawl.warc.gz");
    await writeFile(archive, crawl(0));
    const began = performance.now();
    const first = load(data, archive);
    const [code] = await once(first, "exit");
    expect(code).toBe(0);
    const wholeMs = performance.now() - began;
    let killed = 0;
    for (let version = 1; killed < kills; version++) {
      expect(version).toBeLessThan(kills * 10);
      await writeFile(archive, crawl(version));
      const child = load(data, archive);
      const exited = once(child, "exit");
      const timer = setTimeout(() => child.kill("SIGKILL"), random(Math.ceil(wholeMs)));
      const [, signal] = await exited;
      clearTimeout(timer);
      if (signal === "SIGKILL") killed++;
      await using index = await WebIndex.open(data);
      expect(await index.db.check()).toEqual([]);
      await index.settle();
      expect(await index.parked()).toEqual([]);
      expect(await index.db.check()).toEqual([]);
      await expectTwin(index);
    }
  } finally {
    await folder.remove();
  }
}, 600_000);
