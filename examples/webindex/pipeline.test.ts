import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { contentHash, linkPlace } from "./identity.js";
import { search } from "./search/search.js";
import { SearchView } from "./search/view.js";
import { clusters, documents, links } from "./tables.js";
import { crawl, expectTwin, page, unchanged } from "./testing/site.js";
import { WebIndex } from "./webindex.js";

const a = "https://example.org/a";
const b = "https://example.org/b";
const c = "https://example.org/c";
const home = "https://example.org/";

describe.each(["auto", "two-phase"] as const)("the pipeline, commit: %s", (commit) => {
  let index: WebIndex;

  beforeEach(async () => {
    index = await WebIndex.open("memory:", { commit });
  });

  afterEach(() => index.close());

  async function find(query: string): Promise<string[]> {
    await using view = await index.db.snapshot();
    return (await search(await SearchView.read(view), query)).results.map(({ url }) => url);
  }

  async function canonicalOf(html: string): Promise<string | undefined> {
    await using view = await index.db.snapshot();
    return await view.get(clusters.canonical, contentHash(Buffer.from(html)));
  }

  async function anchorsOf(url: string): Promise<readonly string[]> {
    await using view = await index.db.snapshot();
    return ((await view.get(documents.anchors, url)) ?? []).map(([text]) => text).sort();
  }

  it("finds a page by its text, its title and the anchors of links to it", async () => {
    await crawl(index, {
      [home]: page("Home", "welcome", { [a]: "walrus" }),
      [a]: page("Zebra", "giraffe"),
    });
    expect(await find("giraffe")).toEqual([a]);
    expect(await find("zebra")).toEqual([a]);
    expect(await find("WALRUS")).toEqual([a, home]);
    expect(await find("nothing")).toEqual([]);
    expect(await anchorsOf(a)).toEqual(["walrus"]);
  });

  it("follows changes of text, title and links", async () => {
    await crawl(index, { [home]: page("Home", "one", { [a]: "first" }), [a]: page("A", "two") });
    const report = await crawl(index, { [home]: page("House", "three", { [a]: "second" }) });
    expect(report).toMatchObject({ pages: 1, added: 0, changed: 1, unchanged: 0 });
    expect(await find("one")).toEqual([]);
    expect(await find("three")).toEqual([home]);
    expect(await find("house")).toEqual([home]);
    expect(await find("first")).toEqual([]);
    expect(await anchorsOf(a)).toEqual(["second"]);
  });

  it("removes everything that was derived from a page that is gone", async () => {
    await crawl(index, { [home]: page("Home", "one", { [a]: "walrus" }), [a]: page("A", "two") });
    const report = await crawl(index, { [home]: undefined, [c]: undefined });
    expect(report).toMatchObject({ pages: 0, deleted: 1, problemCount: 0 });
    expect(await find("one")).toEqual([]);
    expect(await find("walrus")).toEqual([]);
    await using view = await index.db.snapshot();
    expect(await view.row(documents, home)).toBeUndefined();
    expect(await view.row(links, linkPlace(a).row)).toBeUndefined();
    expect((await index.count()).live).toBe(1);
  });

  it("finds a page again that was gone for a while", async () => {
    await crawl(index, { [a]: page("A", "walrus") });
    await crawl(index, { [a]: undefined });
    await crawl(index, { [a]: page("A", "walrus") });
    expect(await find("walrus")).toEqual([a]);
  });

  it("shows pages with equal contents as one result: the one of the highest rank", async () => {
    const twin = page("Twin", "walrus");
    await crawl(index, { [b]: twin, [a]: twin });
    expect(await canonicalOf(twin)).toBe(a);
    expect(await find("walrus")).toEqual([a]);
    await crawl(index, { [home]: page("Home", "x", { [b]: "to b" }) });
    expect(await canonicalOf(twin)).toBe(b);
    expect(await find("walrus")).toEqual([b]);
    await crawl(index, { [c]: page("C", "y", { [a]: "to a" }) });
    expect(await canonicalOf(twin)).toBe(a);
    expect(await find("walrus")).toEqual([a]);
  });

  it("attributes the anchors of links to a duplicate to the canonical page, and moves them when it changes", async () => {
    const twin = page("Twin", "walrus");
    await crawl(index, {
      [a]: twin,
      [b]: twin,
      [home]: page("Home", "x", { [a]: "otter", [b]: "badger" }),
    });
    expect(await anchorsOf(a)).toEqual(["badger", "otter"]);
    expect(await anchorsOf(b)).toEqual([]);
    expect(await find("badger")).toEqual([a, home]);
    await crawl(index, { [c]: page("C", "y", { [b]: "weasel" }) });
    expect(await anchorsOf(a)).toEqual([]);
    expect(await anchorsOf(b)).toEqual(["badger", "otter", "weasel"]);
    expect(await find("otter")).toEqual([b, home]);
    await crawl(index, { [b]: undefined });
    expect(await anchorsOf(a)).toEqual(["otter"]);
    expect(await find("walrus")).toEqual([a]);
  });

  it("lets a page leave its cluster and return", async () => {
    const twin = page("Twin", "walrus");
    await crawl(index, { [a]: twin, [b]: twin });
    await crawl(index, { [a]: page("A", "otter") });
    expect(await canonicalOf(twin)).toBe(b);
    expect(await find("walrus")).toEqual([b]);
    expect(await find("otter")).toEqual([a]);
    await crawl(index, { [a]: twin });
    expect(await canonicalOf(twin)).toBe(a);
    expect(await find("walrus")).toEqual([a]);
    await crawl(index, { [a]: undefined, [b]: undefined });
    expect(await canonicalOf(twin)).toBeUndefined();
  });

  it("commits nothing and runs nothing if the same source is loaded again", async () => {
    const pages = { [home]: page("Home", "one", { [a]: "walrus" }), [a]: page("A", "two") };
    await crawl(index, pages);
    let commits = 0;
    let runs = 0;
    const stopCounting = [index.db.on("commit", () => commits++), index.db.on("run", () => runs++)];
    const again = await crawl(index, pages);
    const revisit = await crawl(index, { [home]: unchanged, [a]: unchanged });
    for (const stop of stopCounting) stop();
    expect({ commits, runs }).toEqual({ commits: 0, runs: 0 });
    expect(again).toMatchObject({ pages: 2, added: 0, changed: 0, unchanged: 2 });
    expect(revisit).toMatchObject({ pages: 2, added: 0, changed: 0, unchanged: 2, problemCount: 0 });
  });

  it("updates only the cluster and its page if only the markup of a page changed", async () => {
    await crawl(index, { [home]: page("Home", "one", { [a]: "walrus" }), [a]: page("A", "two") });
    const ran = new Set<string>();
    const stop = index.db.on(
      "run",
      ({ observer, outcome }) => void (outcome === "committed" && ran.add(observer)),
    );
    await crawl(index, { [a]: `${page("A", "two")}<!-- another -->` });
    stop();
    expect([...ran].sort()).toEqual(["cluster", "extract"]);
  });

  it("reports a revisit of a page that was never loaded, and continues", async () => {
    const report = await crawl(index, { [a]: unchanged, [b]: page("B", "walrus") });
    expect(report).toMatchObject({ pages: 2, added: 1, problemCount: 1 });
    expect(report.problems).toMatchObject([{ kind: "unseen", count: 1 }]);
    expect(report.problems[0]!.examples[0]).toContain(a);
    expect(await find("walrus")).toEqual([b]);
  });

  it("reports a URL that is too long for a key, and continues", async () => {
    const long = `https://example.org/${"x".repeat(2_000)}`;
    const report = await crawl(index, {
      [long]: page("Long", "x"),
      [b]: page("B", "walrus", { [long]: "long" }),
    });
    expect(report).toMatchObject({ added: 1, problemCount: 1 });
    expect(await find("walrus")).toEqual([b]);
  });

  it("deletes pages that a complete source no longer lists, and no others", async () => {
    const other = "https://example.com/other";
    await crawl(index, { [a]: page("A", "one"), [b]: page("B", "two") }, "https://example.org/");
    await crawl(index, { [other]: page("Other", "three") });
    const report = await crawl(index, { [b]: page("B", "two") }, "https://example.org/");
    expect(report).toMatchObject({ unchanged: 1, deleted: 1 });
    expect(await find("one")).toEqual([]);
    expect(await find("two")).toEqual([b]);
    expect(await find("three")).toEqual([other]);
  });

  it("keeps the last of two versions of a page in one crawl", async () => {
    const source = {
      kind: "archive" as const,
      path: "twice",
      scope: undefined,
      async *items() {
        for (const text of ["first", "second"]) {
          yield {
            kind: "page" as const,
            url: a,
            contentType: "text/html",
            body: Buffer.from(page("A", text)),
            digest: undefined,
            at: 0,
            file: "twice",
            offset: 0,
            position: 0,
            total: 0,
          };
        }
      },
    };
    await index.load(source);
    await index.settle();
    await expectTwin(index);
    expect(await find("first")).toEqual([]);
    expect(await find("second")).toEqual([a]);
  });

  it("lists the pages that are not indexed completely, until they are", async () => {
    const many = (count: number) => `<a href="${a}">`.repeat(count);
    await crawl(index, {
      [home]: many(20_001),
      [a]: "word ".repeat(200_001),
      [c]: `${many(20_000)}${" ".repeat(2_500_000)}`,
    });
    expect(await index.truncated()).toEqual([
      { kind: "links", count: 1, examples: [home] },
      { kind: "text", count: 1, examples: [a] },
    ]);
    await crawl(index, { [home]: "less" });
    expect((await index.truncated()).map(({ kind }) => kind)).toEqual(["text"]);
  });

  it("limits the work on a page to which very many others link", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [
        `https://example.org/p/${i}`,
        page(`P${i}`, `text ${i}`, { [a]: `n${i}` }),
      ]),
    );
    await crawl(index, { ...many, [a]: page("A", "walrus") });
    await using view = await index.db.snapshot();
    expect(await view.get(documents.rank, a)).toBe(250);
    expect(await view.get(documents.anchors, a)).toHaveLength(200);
  });
});
