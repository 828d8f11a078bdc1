import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SourceItem } from "../../examples/webindex/sources/index.js";
import { gzipEach, http, page, warcRecord } from "../../examples/webindex/sources/testing/archive.js";
import { temporaryFolder } from "../../test/support/databases.js";
import { laterCrawls, readCrawl } from "./crawls.js";

const [a, b, c] = ["https://example.org/a", "https://example.org/b", "https://example.org/c"];

async function bodies(items: AsyncIterable<SourceItem>): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const item of items) {
    found[item.kind === "problem" ? "problem" : item.url] =
      item.kind === "page" ? Buffer.from(item.body).toString() : item.kind;
  }
  return found;
}

describe("archives", () => {
  let folder: { path: string; remove: () => Promise<void> };
  let archives: string[];

  beforeEach(async () => {
    folder = await temporaryFolder();
    archives = ["1", "2"].map((name) => join(folder.path, `${name}.warc.gz`));
    await writeFile(archives[0]!, gzipEach([page(a, "first"), page(b, "kept"), page(c, "goes")]));
    const gone = warcRecord({ url: c, block: http("", {}, 404) });
    await writeFile(archives[1]!, gzipEach([page(a, "second"), gone]));
  });

  afterEach(() => folder.remove());

  test("a crawl contains its archive's pages; the whole is the state after it", async () => {
    const plan = { archives, changes: [] };
    expect(laterCrawls(plan)).toBe(1);
    const { name, pages, source, whole, rest } = await readCrawl(plan, 1);
    expect([name, pages]).toEqual(["2.warc.gz", 2]);
    expect(await bodies(source.items())).toEqual({ [a]: "second", [c]: "gone" });
    expect(await bodies(whole.items())).toEqual({ [a]: "second", [b]: "kept" });
    expect(await bodies(rest.items())).toEqual({ [b]: "kept", [c]: "goes" });
  });

  test("the first crawl is the first archive", async () => {
    const { pages, whole } = await readCrawl({ archives, changes: [] }, 0);
    expect(pages).toBe(3);
    expect(await bodies(whole.items())).toEqual({ [a]: "first", [b]: "kept", [c]: "goes" });
  });
});

test("generated crawls change about the given share of pages, and always the same ones", async () => {
  const plan = { archives: [], changes: [25, 100] };
  expect(laterCrawls(plan)).toBe(2);
  const [first, second, third] = await Promise.all(
    [0, 1, 2].map(async (number) => bodies((await readCrawl(plan, number)).source.items())),
  );
  const pages = Object.keys(first!).filter((url) => url !== "problem");
  const changed = pages.filter((url) => second![url] !== first![url]);
  expect(changed.length / pages.length).toBeGreaterThan(0.15);
  expect(changed.length / pages.length).toBeLessThan(0.35);
  const all = pages.filter((url) => third![url] !== second![url]);
  expect(all).toEqual(pages.filter((url) => url in third!));
  expect(await bodies((await readCrawl(plan, 1)).source.items())).toEqual(second);
});
