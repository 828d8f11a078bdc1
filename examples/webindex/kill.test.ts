import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openSource } from "./sources/index.js";
import { gzipEach, page } from "./sources/testing/archive.js";
import { Scratch } from "./sources/testing/files.js";
import { expectTwin, seeded } from "./testing/site.js";
import { WebIndex } from "./webindex.js";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const rounds = 4;
const pages = 400;

/** Two crawls of one site: every page links to some others, and the second time every third one has changed. */
function crawlOf(version: number): Buffer[] {
  const random = seeded(1);
  const url = (index: number) => `https://example.org/${index}`;
  return Array.from({ length: pages }, (_, index) => {
    const links = Array.from({ length: 5 }, () => `<a href="${url(random(pages))}">word${random(50)}</a>`);
    const text = `common word${index} ${index % 3 === 0 ? `version${version}` : "same"}`;
    return page(url(index), `<title>Page ${index}</title>${index % 10 === 7 ? "" : text}${links.join(" ")}`);
  });
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ["--import", import.meta.resolve("tsx"), main, ...args], {
    stdio: "ignore",
  });
}

describe("a load that is killed", () => {
  it("leaves a sound database, from which the next one goes on to the same index", async () => {
    await using scratch = await Scratch.make();
    const archives = [
      await scratch.write("one.warc.gz", gzipEach(crawlOf(1))),
      await scratch.write("two.warc.gz", gzipEach(crawlOf(2))),
    ];
    const data = `${scratch.path}/data`;
    const random = seeded(2);
    for (let round = 0; round < rounds; round++) {
      const child = start(["--once", "--data", data, archives[round % 2]!]);
      const exited = once(child, "exit");
      // From before it has opened the database to after it is done, wherever that is on this machine.
      await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, 600 + random(1_500)))]);
      child.kill("SIGKILL");
      await exited;
      await using index = await WebIndex.open(data);
      expect(await index.db.check()).toEqual([]);
      await index.settle();
      expect(await index.parked()).toEqual([]);
      await expectTwin(index);
    }
    await using index = await WebIndex.open(data);
    for (const archive of archives) await index.load(await openSource(archive));
    await index.settle();
    await expectTwin(index);
    expect((await index.count()).live).toBe(pages);
  });
});
