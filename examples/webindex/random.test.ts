import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Crawl, crawl, crawlSource, expectTwin, page, seeded } from "./testing/site.js";
import { WebIndex } from "./webindex.js";

const words = "ant bee cat dog eel fox gnu hen ibis jay koi lynx mole newt owl pig".split(" ");

/**
 * Random changes to some pages of a small site. Several pages have the same text, links lead
 * everywhere, and pages are removed and added again.
 */
function randomCrawl(
  random: (below: number) => number,
  pages: number,
  changes: number,
  bodies = words.length,
): Crawl {
  const url = () => `https://example.org/${random(pages)}`;
  const word = () => words[random(words.length)]!;
  const said: Record<string, string | undefined> = {};
  for (let change = 0; change < changes; change++) {
    if (random(5) === 0) {
      said[url()] = undefined;
      continue;
    }
    const links = Object.fromEntries(Array.from({ length: random(4) }, () => [url(), word()]));
    // Few different bodies, so that there are many duplicates.
    said[url()] =
      random(2) === 0 ? page("Same", words[random(bodies)]!) : page(word(), `${word()} ${word()}`, links);
  }
  return said;
}

describe("random edits, compared with the batch twin after each step", () => {
  it.each([1, 2, 3, 4])("seed %i, in memory", async (seed) => {
    const random = seeded(seed);
    await using index = await WebIndex.open("memory:", { concurrency: 16 });
    for (let step = 0; step < 12; step++) await crawl(index, randomCrawl(random, 20, 12));
    expect(await index.parked()).toEqual([]);
  });

  it.each([10, 11])("seed %i, with clusters of very many members", async (seed) => {
    const random = seeded(seed);
    await using index = await WebIndex.open("memory:", { concurrency: 16 });
    for (let step = 0; step < 8; step++) await crawl(index, randomCrawl(random, 80, 60, 2));
    expect(await index.parked()).toEqual([]);
  });

  it.each([5, 6])("seed %i, with two-phase commits", async (seed) => {
    const random = seeded(seed);
    await using index = await WebIndex.open("memory:", { concurrency: 16, commit: "two-phase" });
    for (let step = 0; step < 8; step++) await crawl(index, randomCrawl(random, 15, 10));
    expect(await index.parked()).toEqual([]);
  });

  it.each([7, 8])(
    "seed %i, in a folder, with crawls loaded before the previous one is indexed",
    async (seed) => {
      const random = seeded(seed);
      const folder = await mkdtemp(join(tmpdir(), "webindex-"));
      try {
        for (let step = 0; step < 3; step++) {
          await using index = await WebIndex.open(folder, { concurrency: 16 });
          for (let crawls = 0; crawls < 4; crawls++)
            await index.load(crawlSource(randomCrawl(random, 20, 12)));
          // The first step closes the index in the middle of its work. The next step continues it.
          if (step === 0) continue;
          await index.settle();
          await expectTwin(index);
          expect(await index.db.check()).toEqual([]);
        }
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  it("seed 9, two indexes working on one folder", async () => {
    const random = seeded(9);
    const folder = await mkdtemp(join(tmpdir(), "webindex-"));
    try {
      await using one = await WebIndex.open(folder, { concurrency: 8 });
      await using two = await WebIndex.open(folder, { concurrency: 8 });
      for (let step = 0; step < 4; step++) {
        await Promise.all([
          one.load(crawlSource(randomCrawl(random, 20, 12))),
          two.load(crawlSource(randomCrawl(random, 20, 12))),
        ]);
        await Promise.all([one.settle(), two.settle()]);
        await one.settle();
        await expectTwin(one);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
