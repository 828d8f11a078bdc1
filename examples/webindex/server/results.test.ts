import { afterAll, beforeAll, expect, it } from "vitest";
import { crawl, page } from "../testing/site.js";
import { WebIndex } from "../webindex.js";
import { SearchServer } from "./server.js";

/** What the server says of its results: their order, their versions and their snippets. */

const site = "https://example.org/";
const prose = "The walrus is a large marine mammal of the far north. ".repeat(3);
/** Two versions of a page have all but one of these words in common. */
const words = (name: string, count: number) =>
  `narwhal ${Array.from({ length: count }, (_, at) => `${name}word${at}`).join(" ")}`;
/** The more words, the lower is the score: all versions of one page stand one after another. */
const counts = { a: 4, b: 8, c: 12 };
const versionsOf = ([name, count]: readonly [string, number]) =>
  ["1.0", "2.0", "3.0"].map((version) => [
    `${site}${version}/${name}`,
    page(name, `${words(name, count)} only${version.replace(".", "")}`),
  ]);

interface Result {
  readonly url: string;
  readonly score: number;
  readonly rank: number;
  readonly versions: readonly string[];
  readonly snippet: readonly { readonly text: string }[];
}

let index: WebIndex;
let server: SearchServer;

beforeAll(async () => {
  index = await WebIndex.open("memory:");
  await crawl(index, {
    [`${site}menu`]: `<title>Menu</title><nav>walrus marine mammal: all pages</nav><p>${prose}</p>`,
    // Both have the same words of the query and the same lengths. By their URLs, the first one comes first.
    [`${site}few`]: page("Same", "otter alpha"),
    [`${site}many`]: page("Same", "otter gamma"),
    ...Object.fromEntries(
      ["x", "y", "z"].map((name) => [`${site}${name}`, page(name, name, { [`${site}many`]: "there" })]),
    ),
    ...Object.fromEntries(Object.entries(counts).flatMap(versionsOf)),
  });
  server = await SearchServer.start(index.db, {
    host: "127.0.0.1",
    port: 0,
    loading: () => undefined,
    waiting: async () => 0,
    atOnce: 2,
    maxWaiting: 10,
    deadlineMs: 60_000,
    onError: (error) => expect.unreachable(String(error)),
  });
});

afterAll(async () => {
  await server.stop();
  await index.close();
});

async function find(parameters: string) {
  const response = await fetch(new URL(`/api/search?q=${parameters}`, server.url));
  return (await response.json()) as { total: number; next?: string; results: Result[] };
}

it("takes a snippet from the body of a page, not from its navigation", async () => {
  const { results } = await find("walrus+marine+mammal");
  expect(results).toHaveLength(1);
  const snippet = results[0]!.snippet.map(({ text }) => text).join("");
  expect(snippet).toContain("is a large marine mammal of the far north");
  expect(snippet).not.toContain("all pages");
});

it("puts the page with more links first if the words are the same", async () => {
  const { results } = await find("otter");
  expect(results.map(({ url, rank }) => [url, rank])).toEqual([
    [`${site}many`, 3],
    [`${site}few`, 0],
  ]);
  expect(results[0]!.score).toBeGreaterThan(results[1]!.score);
});

it("shows versions of a page as one result", async () => {
  const { total, next, results } = await find("narwhal");
  expect(total).toBe(9);
  expect(next).toBeUndefined();
  expect(results.map(({ url, versions }) => [url, ...versions])).toEqual(
    Object.keys(counts).map((name) => ["1.0", "2.0", "3.0"].map((version) => `${site}${version}/${name}`)),
  );
  const shown = await (await fetch(new URL("/search?q=narwhal", server.url))).text();
  expect(shown.match(/class="snippet"/g)).toHaveLength(3);
  expect(shown.match(new RegExp(`href="${site}[123].0/[abc]"`, "g"))!.length).toBeGreaterThanOrEqual(9);
});

it("counts these results, and not their versions, for the pages of results", async () => {
  const all = (await find("narwhal")).results.map(({ url }) => url);
  for (const [at, url] of all.entries()) {
    const { results, next } = await find(`narwhal&limit=1&offset=${at}`);
    expect(results.map((result) => result.url)).toEqual([url]);
    expect(next === undefined).toBe(at === all.length - 1);
  }
  const followed: string[] = [];
  for (let after = ""; ; ) {
    const { results, next } = await find(`narwhal&limit=1${after}`);
    followed.push(...results.map(({ url }) => url));
    if (next === undefined || followed.length > all.length) break;
    after = `&after=${encodeURIComponent(next)}`;
  }
  expect(followed).toEqual(all);
});
