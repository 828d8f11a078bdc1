import type { Snapshot } from "percolatordb";
import { expect, it, vi } from "vitest";
import { shards } from "../tables.js";
import { type Crawl, crawlSource, page, seeded } from "../testing/site.js";
import { WebIndex } from "../webindex.js";
import { IndexCache } from "./index-cache.js";
import { type SearchAnswer, search } from "./search.js";
import { SearchIndex } from "./search-index.js";
import { SearchView } from "./view.js";

/** Searches as live queries, and caches that several views use at the same time. */

const words = "ant bee cat dog eel".split(" ");
const queries = ["ant", "bee cat", "eel dog", "zebra"];
const urlOf = (index: number) => `https://example.org/${index}`;

/** Adds, changes and removes pages: also their links, and pages with the same contents. */
function someChanges(random: (below: number) => number): Crawl {
  const word = () => words[random(words.length)]!;
  const said: Record<string, string | undefined> = {};
  for (let changes = random(4); changes >= 0; changes--) {
    const links = { [urlOf(random(8))]: word() };
    const bodies = [undefined, page("Same", "ant"), page(word(), `${word()} ${word()}`, links)];
    said[urlOf(random(8))] = bodies[random(bodies.length)];
  }
  return said;
}

it.each([1, 2, 3])("answers as a search without caches after every change (seed %i)", async (seed) => {
  await using index = await WebIndex.open("memory:");
  const searched = new SearchIndex(index.db);
  const random = seeded(seed);
  const ending = new AbortController();
  const latest = new Map<string, SearchAnswer>();
  const following = queries.map(async (query) => {
    const answers = index.db.live((snapshot) => searched.searchLive(snapshot, query), {
      signal: ending.signal,
    });
    for await (const { value } of answers) latest.set(query, value);
  });
  for (let crawls = 0; crawls < 12; crawls++) {
    await index.load(crawlSource(someChanges(random)));
    // Sometimes several crawls are loaded before the pages of the first one can be found.
    if (random(3) > 0) await index.settle();
    if (crawls % 3 < 2) continue;
    await index.settle();
    await using snapshot = await index.db.snapshot();
    const view = await SearchView.read(snapshot);
    for (const query of queries) {
      const { suggestion: _, ...expected } = await search(view, query);
      await expect.poll(() => latest.get(query)).toMatchObject(expected);
    }
  }
  ending.abort();
  await Promise.allSettled(following);
  await searched.close();
});

it("keeps the shards of two moments apart if their views are read together", async () => {
  await using index = await WebIndex.open("memory:");
  const load = async (crawl: Crawl) => {
    await index.load(crawlSource(crawl));
    await index.settle();
  };
  const cache = new IndexCache();
  const sizes = async (snapshot: Snapshot, of = cache) =>
    (await of.shards(snapshot)).map(({ pages }) => pages.lengths.length / 3);
  await load(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [urlOf(at), page("", `ant ${at}`)])));
  {
    await using first = await index.db.snapshot();
    await sizes(first);
  }
  await load({ [urlOf(40)]: page("", "ant 40") });
  await using older = await index.db.snapshot();
  // Every shard has a new page now, those that both moments have in the cache as well.
  await load(
    Object.fromEntries(Array.from({ length: 200 }, (_, at) => [urlOf(100 + at), page("", `bee ${at}`)])),
  );
  await using newer = await index.db.snapshot();

  const getMany = older.getMany.bind(older);
  vi.spyOn(older, "getMany").mockImplementation(async (column, rows) => {
    const found = await getMany(column, rows);
    // While the older view reads what has changed, the newer one is read from its beginning to its end.
    if ((column as unknown) === shards.lengths) await sizes(newer);
    return found;
  });
  const read = await sizes(older);
  vi.restoreAllMocks();
  expect(read).toEqual(await sizes(older, new IndexCache()));
  expect(read).not.toEqual(await sizes(newer, new IndexCache()));
});

it("reads the words for suggestions again if the search that read them was given up", async () => {
  await using index = await WebIndex.open("memory:");
  await index.load(crawlSource({ [urlOf(1)]: page("", "walrus") }));
  await index.settle();
  const cache = new IndexCache();
  const givenUp = await index.db.snapshot();
  await using kept = await index.db.snapshot();
  const states = await cache.shards(kept);
  await givenUp.close();
  const readings = [cache.vocabulary(givenUp, states), cache.vocabulary(kept, states)] as const;
  const [one, other] = await Promise.allSettled(readings);
  expect(one.status).toBe("rejected");
  expect(other.status === "fulfilled" && (await other.value.suggest("wlarus"))).toBe("walrus");
});
