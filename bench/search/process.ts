/** A process with one engine that has all pages, or with an index that loads them. */
import MiniSearch from "minisearch";
import { type Database, open } from "percolatordb";
import { Pool } from "pg";
import { SearchIndex } from "../../examples/webindex/search/search-index.js";
import type { Page } from "../../examples/webindex/sources/index.js";
import { tables } from "../../examples/webindex/tables.js";
import { seeded } from "../../examples/webindex/testing/site.js";
import { extract, termCounts } from "../../examples/webindex/text/index.js";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { serve } from "../harness/child.js";
import { secondsSince } from "../harness/program.js";
import { postmasterOf } from "../postgres/server.js";
import { sourceOf } from "../webindex/sources.js";
import { measureSearches, quantilesOf, searchWhile } from "./measure.js";
import { readAllPages } from "./pages.js";

export interface SearchTask {
  readonly paths: readonly string[];
  readonly pages: number;
  readonly queries: number;
  readonly atOnce: number;
  /** The folder of the index, or the host of PostgreSQL. */
  readonly at: string;
}

const resultsWanted = 10;
/** Between two searches while a crawl loads: 20 a second, as a busy site has. */
const restMs = 50;

/** One to three words of the title of a page. */
function queriesOf(titles: readonly string[], count: number): string[] {
  const random = seeded(7);
  const known = titles.map((title) => [...termCounts(title).keys()]).filter((words) => words.length > 0);
  return Array.from({ length: count }, () => {
    const words = known[random(known.length)]!;
    return Array.from({ length: 1 + random(3) }, () => words[random(words.length)]!).join(" ");
  });
}

async function read({ paths, pages, queries }: SearchTask) {
  const all = (await readAllPages(paths, pages)).map((page) => {
    const { title, text } = extract(page.body, page.contentType, page.url);
    return { page, id: page.url, title, text };
  });
  return {
    all,
    queries: queriesOf(
      all.map(({ title }) => title),
      queries,
    ),
  };
}

/** Repeats a query as the engines count it. */
const terms = (query: string) => [...termCounts(query).keys()];

/**
 * PostgreSQL takes `node.js` for a host and `a/b` for a file, which a search for `node` or `b` does
 * not find. Without the ASCII punctuation, its words are nearly those of the other engines.
 */
const vectorOf = (text: string) =>
  `to_tsvector('simple', regexp_replace(${text}, '[\\x01-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7f]+', ' ', 'g'))`;

async function loadPages(index: WebIndex, pages: readonly Page[]): Promise<number> {
  const began = performance.now();
  await index.load(sourceOf("pages", pages));
  await index.settle();
  return pages.length / secondsSince(began);
}

/** The index that this process loads, and the pages that it has not loaded yet. */
let loader: { readonly index: WebIndex; readonly rest: readonly Page[] } | undefined;
/** The searches of this process, and their database if it is not the loader's. */
let searcher:
  | {
      readonly db: Database | undefined;
      readonly searches: SearchIndex;
      readonly queries: readonly string[];
    }
  | undefined;
let isSearching = false;

serve({
  async percolator(task: SearchTask) {
    const { all, queries } = await read(task);
    await using index = await WebIndex.open(task.at);
    await loadPages(
      index,
      all.map(({ page }) => page),
    );
    const searches = new SearchIndex(index.db);
    const times = await measureSearches(
      queries,
      task.atOnce,
      async (query) => (await searches.search(query)).total,
    );
    await searches.close();
    return { ...times, pages: all.length };
  },
  /** Loads the first half of the pages. */
  async loadHalf(task: SearchTask) {
    const { all } = await read(task);
    const pages = all.map(({ page }) => page);
    const half = Math.floor(pages.length / 2);
    const index = await WebIndex.open(task.at);
    loader = { index, rest: pages.slice(half) };
    await loadPages(index, pages.slice(0, half));
  },
  /** Loads the other half. Returns the pages a second. */
  loadRest: () => loadPages(loader!.index, loader!.rest),
  /** Fills the caches of searches. If this process does not load, it only reads the index. */
  async warmUp(task: SearchTask) {
    const { queries } = await read(task);
    const db = loader === undefined ? await open(task.at, { tables, readOnly: true }) : undefined;
    const searches = new SearchIndex(db ?? loader!.index.db);
    searcher = { db, searches, queries };
    for (const query of queries) await searches.search(query);
  },
  /** Searches until {@link endSearches} is called. */
  async searchOn() {
    const { searches, queries } = searcher!;
    isSearching = true;
    const times = await searchWhile(
      () => !isSearching,
      restMs,
      (index) => searches.search(queries[index % queries.length]!),
    );
    return { ...quantilesOf(times), searches: times.length };
  },
  endSearches() {
    isSearching = false;
  },
  async close() {
    await searcher?.searches.close();
    await searcher?.db?.close();
    await loader?.index.close();
  },
  async minisearch(task: SearchTask) {
    const { all, queries } = await read(task);
    const mini = new MiniSearch<(typeof all)[number]>({
      fields: ["text", "title"],
      tokenize: (text) => [...termCounts(text)].flatMap(([term, count]) => Array<string>(count).fill(term)),
      processTerm: (term) => term,
      searchOptions: { boost: { text: 1, title: 3 }, combineWith: "OR", tokenize: terms },
    });
    for (const page of all) mini.add(page);
    return measureSearches(queries, task.atOnce, async (query) => mini.search(query).length);
  },
  async postgres(task: SearchTask) {
    const { all, queries } = await read(task);
    const pool = new Pool({
      host: task.at,
      user: "postgres",
      database: "postgres",
      max: task.atOnce,
      idleTimeoutMillis: 0,
    });
    pool.on("error", () => undefined);
    try {
      await pool.query(
        `create table pages (url text, title text, body text, words tsvector generated always as
           (setweight(${vectorOf("title")}, 'A') || ${vectorOf("left(body, 200000)")}) stored)`,
      );
      for (const { id, title, text } of all) {
        const clean = (said: string) => said.replaceAll("\0", "");
        await pool.query("insert into pages (url, title, body) values ($1, $2, $3)", [
          id,
          clean(title),
          clean(text),
        ]);
      }
      await pool.query("create index on pages using gin (words)");
      await pool.query("vacuum analyze pages");
      const text = `
        with found as (select url, title, body, words from pages, to_tsquery('simple', $1) as asked where words @@ asked),
          best as (select * from found order by ts_rank(words, to_tsquery('simple', $1)) desc, url limit ${resultsWanted})
        select url, title, ts_headline('simple', body, to_tsquery('simple', $1)) as snippet,
          (select count(*)::int from found) as total from best`;
      const statement = (query: string) => ({ name: "search", text, values: [terms(query).join(" | ")] });
      // Opens all connections and prepares the statement on each.
      const clients = await Promise.all(Array.from({ length: task.atOnce }, () => pool.connect()));
      await Promise.all(clients.map((client) => client.query(statement(queries[0]!))));
      for (const client of clients) client.release();
      return await measureSearches(
        queries,
        task.atOnce,
        async (query) => (await pool.query<{ total: number }>(statement(query))).rows[0]?.total ?? 0,
        [postmasterOf({ host: task.at })],
      );
    } finally {
      await pool.end();
    }
  },
});
