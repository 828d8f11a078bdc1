import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/databases.js";
import { ProgramProcess } from "../../../test/support/program-process.js";
import { until } from "../../../test/support/waiting.js";
import type { Source } from "../sources/index.js";
import { documents } from "../tables.js";
import { longArchive, randomArchive } from "../testing/bulk-crawl.js";
import { crawl, crawlSource, expectTwin, page, seeded, unchanged } from "../testing/site.js";
import { linkKey, rowText } from "../twin/order.js";
import { WebIndex } from "../webindex.js";
import { BulkRefusedError, rowsAfter } from "./bulk.js";

const site = "https://example.org/";
const first = {
  [site]: page("Start", "walrus", { [`${site}a`]: "otter", [`${site}b`]: "seal" }),
  [`${site}a`]: page("A", "badger", { [site]: "home" }),
  [`${site}copy`]: page("A", "badger", { [site]: "home" }),
  [`${site}gone`]: undefined,
};

/** The loaded columns of each page. */
async function pagesOf({ db }: WebIndex): Promise<unknown> {
  await using view = await db.snapshot();
  const found: unknown[] = [];
  for await (const { row, value } of view.scan(documents)) {
    const { contents, digests, captures } = value;
    found.push([row, Buffer.from(contents!).toString(), digests, captures]);
  }
  return found;
}

it("makes the tables that observers make, leaves nothing due, and the observers go on", async () => {
  await using index = await WebIndex.open("memory:");
  const report = await index.bulkLoad([crawlSource(first)]);
  expect(report).toMatchObject({ pages: 3, added: 3, problemCount: 0 });
  expect(await index.waiting(1)).toBe(0);
  await index.settle();
  expect(index.metrics.observers).toEqual({});
  await expectTwin(index);
  expect(await index.count()).toEqual({ live: 3, findable: 2 });
  await crawl(index, {
    [site]: unchanged,
    [`${site}a`]: page("A", "marmot"),
    [`${site}copy`]: undefined,
    [`${site}new`]: page("New", "weasel", { [`${site}a`]: "again" }),
  });
  expect(await index.count()).toEqual({ live: 3, findable: 3 });
  expect(await index.db.check()).toEqual([]);
});

it.each([1, 2, 3, 4, 5, 6])(
  "stores the pages that the loader stores, from several archives; seed %i",
  async (seed) => {
    const random = seeded(seed);
    const archives = [0, 1, 2].map((each) => randomArchive(seed * 10 + each, each, 15 + random(40)));
    await using loaded = await WebIndex.open("memory:");
    for (const archive of archives) await loaded.load(archive);
    await loaded.settle();
    await using bulk = await WebIndex.open("memory:");
    // Little memory, so that the sorts spill.
    await bulk.bulkLoad(archives, { heldBytes: 4_096 });
    await bulk.settle();
    await expectTwin(bulk);
    expect(await pagesOf(bulk)).toEqual(await pagesOf(loaded));
    expect(await bulk.parked()).toEqual([]);
  },
);

it("refuses an index with pages, and other sources while a load is interrupted", async () => {
  await using index = await WebIndex.open("memory:");
  await crawl(index, first);
  await expect(index.bulkLoad([crawlSource(first)])).rejects.toBeInstanceOf(BulkRefusedError);

  await using other = await WebIndex.open("memory:");
  const stop = new AbortController();
  const onStage = ({ doing }: { readonly doing: string }) => {
    if (doing.startsWith("storing documents")) stop.abort(new Error("stopped"));
  };
  const loading = other.bulkLoad([longArchive(60)], { signal: stop.signal, onStage });
  await expect(loading).rejects.toThrow();
  expect(await other.count()).toMatchObject({ live: 0 });
  const refused = other.bulkLoad([crawlSource(first)]);
  await expect(refused).rejects.toThrow(/"webindex-[0-9a-f]+" of other sources was interrupted/);
  await other.bulkLoad([longArchive(60)]);
  expect(await other.count()).toMatchObject({ live: 60 });
  // The same command again loads as usual.
  expect(await other.bulkLoad([longArchive(60)])).toBeUndefined();
  await expectTwin(other);
});

it("continues after the last stored row", () => {
  const rows = ["a", "b", "\u{ffff}", "\u{10000}"].map((row) => [row, {}] as const);
  const after = (row: string | undefined) => [...rowsAfter(rows, row)].map((each) => each.row);
  expect(after(undefined)).toHaveLength(4);
  expect(after("a")).toEqual(["b", "\u{ffff}", "\u{10000}"]);
  // The order is that of bytes, not of code units.
  expect(after("\u{ffff}")).toEqual(["\u{10000}"]);
  expect(linkKey(rowText(["example.org", 7]))).toEqual(["example.org", 7]);
});

it("continues after its process was killed, and equals the twin", async () => {
  const folder = await temporaryFolder();
  const script = fileURLToPath(new URL("../testing/bulk-child.ts", import.meta.url));
  const archive: Source = longArchive(150);
  try {
    const child = new ProgramProcess(script, [folder.path, "150"]);
    try {
      const isStoring = () => child.lines.some((line) => line.startsWith("storing documents"));
      expect(await until(() => isStoring() || child.hasEnded)).toBe(true);
      expect(child.lines).not.toContain("loaded");
    } finally {
      await child.kill();
    }
    await using index = await WebIndex.open(folder.path);
    const [load] = await index.db.loads();
    expect(load).toMatchObject({ state: "loading" });
    expect(await index.count()).toMatchObject({ live: 0 });
    expect(await index.bulkLoad([archive])).toMatchObject({ added: 150 });
    expect(await index.count()).toMatchObject({ live: 150 });
    expect(await index.waiting(1)).toBe(0);
    await expectTwin(index);
    await crawl(index, { [`${site}3`]: page("Three", "changed") });
    expect(await index.db.check()).toEqual([]);
  } finally {
    await folder.remove();
  }
}, 120_000);
