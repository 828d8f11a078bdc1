import MiniSearch from "minisearch";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { unpackContents } from "../contents.js";
import { openSource, type Source } from "../sources/index.js";
import { clusters, documents, levelOf } from "../tables.js";
import { crawl, page } from "../testing/site.js";
import { extract, termCounts } from "../text/index.js";
import { WebIndex } from "../webindex.js";
import { bm25, fieldWeights, priorOf } from "./bm25.js";
import { search } from "./search.js";
import { SearchView } from "./view.js";

const maxPages = 250;
const queries = [
  "promise",
  "the",
  "install",
  "license mit",
  "parse markdown options",
  "how to use a stream with backpressure",
  "typescript types for node",
  "Buffer ENCODING utf8",
  "test runner configuration file watch",
  "zzzzzz",
  "zzzzzz promise",
];

/** Yields only the first pages of a source. */
function some(source: Source): Source {
  return {
    ...source,
    scope: undefined,
    async *items(signal) {
      let left = maxPages;
      for await (const item of source.items(signal)) {
        if (item.kind === "page" && --left >= 0) yield item;
        if (left < 0) return;
      }
    },
  };
}

interface Entry {
  readonly id: string;
  readonly text: string;
  readonly title: string;
  readonly anchors: string;
}

/** The words with repetitions, so that minisearch counts them as the index does. */
function words(text: string): string[] {
  return [...termCounts(text)].flatMap(([term, count]) => Array.from({ length: count }, () => term));
}

describe("search, compared with minisearch over the same pages", () => {
  let index: WebIndex;
  let mini: MiniSearch<Entry>;
  const levels = new Map<string, number>();

  beforeAll(async () => {
    index = await WebIndex.open("memory:");
    await index.load(some(await openSource("node_modules")));
    await index.settle();
    mini = new MiniSearch<Entry>({
      fields: ["text", "title", "anchors"],
      tokenize: words,
      processTerm: (term) => term,
      searchOptions: {
        boost: { text: fieldWeights[0], title: fieldWeights[1], anchors: fieldWeights[2] },
        bm25: { k: bm25.k1, b: bm25.b, d: 0 },
        combineWith: "OR",
        tokenize: (query) => [...termCounts(query).keys()],
      },
    });
    await using view = await index.db.snapshot();
    for await (const { row: url, value } of view.scan(documents.contents)) {
      const hash = (await view.get(documents.hash, url))!;
      if ((await view.get(clusters.canonical, hash)) !== url) continue;
      const { contentType, body } = unpackContents(value);
      const { title, text } = extract(body, contentType, url);
      levels.set(url, levelOf((await view.get(documents.rank, url)) ?? 0));
      const anchors = (await view.get(documents.anchors, url)) ?? [];
      const said = anchors.map(([anchor, times]) => `${anchor} `.repeat(times)).join(" ");
      mini.add({ id: url, text, title, anchors: said });
    }
  });

  afterAll(() => index.close());

  it("has pages to compare", () => {
    expect(mini.documentCount).toBeGreaterThan(100);
  });

  it.each(queries)("%s", async (query) => {
    await using view = await index.db.snapshot();
    const found = await search(await SearchView.read(view), query, { limit: 50 });
    // minisearch has no part of a score that does not depend on the query.
    const theirs = mini
      .search(query)
      .map(({ id, score }) => ({ id: id as string, score: score + priorOf(levels.get(id as string) ?? 0) }))
      .sort((a, b) => b.score - a.score);
    expect(found.total).toBe(theirs.length);
    const scores = new Map(theirs.map(({ id, score }) => [id, score]));
    for (const { url, score } of found.results) expect(score / scores.get(url)!).toBeCloseTo(1, 9);
    const best = theirs.slice(0, 50).map(({ score }) => score);
    expect(found.results.map(({ score }) => score.toFixed(6))).toEqual(best.map((score) => score.toFixed(6)));
    const clear = found.results
      .filter(({ score }, at) => distinct(found.results, at, score))
      .map(({ url }) => url);
    const order = theirs.map(({ id }) => id).filter((id) => clear.includes(id));
    expect(order).toEqual(clear);
  });

  it("shows for each result its title, a snippet with the words marked, its rank and its duplicates", async () => {
    await using view = await index.db.snapshot();
    const { results } = await search(await SearchView.read(view), "promise", { limit: 5 });
    expect(results.length).toBe(5);
    for (const { snippet, title, rank, duplicates } of results) {
      expect(snippet.some(({ text, match }) => match && text.toLowerCase() === "promise")).toBe(true);
      expect(typeof title).toBe("string");
      expect(rank).toBeGreaterThanOrEqual(0);
      expect(duplicates).toBeGreaterThanOrEqual(0);
    }
  });
});

it("describes no more results after the search was aborted", async () => {
  await using index = await WebIndex.open("memory:");
  const named = (at: number) => [`https://example.org/${at}`, page(`Page ${at}`, "walrus")] as const;
  await crawl(index, Object.fromEntries(Array.from({ length: 30 }, (_, at) => named(at))));
  await using view = await index.db.snapshot();
  const { signal } = new AbortController();
  let described = 0;
  vi.spyOn(signal, "throwIfAborted").mockImplementation(() => {
    if (++described === 5) throw new Error("gone");
  });
  const get = vi.spyOn(view, "get");
  const read = await SearchView.read(view);
  await expect(search(read, "walrus", { limit: 30, signal })).rejects.toThrow("gone");
  const contents = get.mock.calls.filter(([column]) => (column as unknown) === documents.contents);
  expect(contents).toHaveLength(10);
});

/** Whether a result's place is certain, because no neighbour has nearly the same score. */
function distinct(results: readonly { readonly score: number }[], at: number, score: number): boolean {
  const near = (other: { readonly score: number } | undefined) =>
    other !== undefined && Math.abs(other.score - score) < 1e-9 * score;
  return !near(results[at - 1]) && !near(results[at + 1]) && at < results.length - 1;
}
