import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type LiveError, type LiveState, live } from "percolatordb/live/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SearchIndex } from "../search/search-index.js";
import { crawl, page } from "../testing/site.js";
import { WebIndex } from "../webindex.js";
import { LiveSearches, type LiveSearchOptions, type ShownResults } from "./live-search.js";
import { readQuestion } from "./question.js";
import { WaitingLine } from "./waiting-line.js";

const site = "https://example.org/";
const line = () => new WaitingLine({ atOnce: 4, maxWaiting: 10, deadlineMs: 60_000 });

let index: WebIndex;
let searched: SearchIndex;
const errors: unknown[] = [];
const cleanups: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  index = await WebIndex.open("memory:");
  searched = new SearchIndex(index.db);
  await crawl(index, { [`${site}otter`]: page("Otter", "walrus otter") });
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await searched.close();
  await index.close();
  vi.restoreAllMocks();
  expect(errors.splice(0)).toEqual([]);
});

async function serve(options: Partial<LiveSearchOptions> = {}) {
  const searches = new LiveSearches(index.db, searched, {
    line: line(),
    maxOpen: 10,
    throttleMs: 1,
    deadlineMs: 60_000,
    onError: (error) => errors.push(error),
    ...options,
  });
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url!, "http://localhost");
    const question = readQuestion(searchParams);
    if (typeof question !== "string") void searches.answer(question, request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  cleanups.push(async () => {
    await searches.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { searches, url: `http://127.0.0.1:${port}/` };
}

/** A client, with what it was told so far. */
function follow(url: string) {
  const shown: ShownResults[] = [];
  const states: LiveState[] = [];
  const failures: LiveError[] = [];
  const subscription = live<ShownResults>(url, {
    onValue: ({ value }) => void shown.push(value),
    onState: (state) => void states.push(state),
    onError: (error) => void failures.push(error),
    maxRetryMs: 1,
  });
  cleanups.push(async () => subscription.close());
  return { shown, states, failures, subscription };
}

it("sends the results of its page, and each change of them, with the text escaped", async () => {
  const { url } = await serve();
  const { shown } = follow(`${url}?q=walrus&limit=1`);
  await expect.poll(() => shown.at(-1)?.html).toContain("1 page found.");
  await crawl(index, { [`${site}script`]: page("&lt;script&gt;", "walrus &lt;img&gt; walrus") });
  await expect.poll(() => shown.at(-1)?.html).toContain("2 pages found. The 1 best of them:");
  expect(shown.at(-1)?.html).toContain("&#60;script&#62;");
  expect(shown.at(-1)?.html).not.toMatch(/<script|<img/);
  expect(shown.at(-1)?.html).toContain("offset=1");
});

it("pauses between runs, also if they find nothing new, longer if runs are slow and many searches are open", async () => {
  const pauses: number[] = [];
  let [now, tookMs] = [0, 1];
  const searchLive = searched.searchLive.bind(searched);
  let finish = () => {};
  let pausesBefore: number | undefined;
  const search = vi.spyOn(searched, "searchLive").mockImplementation(async (snapshot, query, options) => {
    if (query === "slow") await new Promise<void>((resolve) => (finish = resolve));
    pausesBefore ??= pauses.length;
    now += tookMs;
    return searchLive(snapshot, query, options);
  });
  const { url } = await serve({
    throttleMs: 500,
    now: () => now,
    sleep: async (ms) => {
      pauses.push(ms);
      now += ms;
    },
  });
  const runAgain = async () => {
    const before = search.mock.calls.length;
    await crawl(index, { [`${site}${before}`]: page(`${before}`, `marmot ${before}`) });
    await expect.poll(() => search.mock.calls.length).toBeGreaterThan(before);
  };
  const { shown } = follow(`${url}?q=otter`);
  await expect.poll(() => shown.length).toBe(1);
  expect(pausesBefore).toBe(0);
  await runAgain();
  expect(new Set(pauses)).toEqual(new Set([499]));
  tookMs = 200;
  await runAgain();
  await runAgain();
  expect(new Set(pauses)).toEqual(new Set([499, 1_800]));
  const before = search.mock.calls.length;
  follow(`${url}?q=slow`);
  await expect.poll(() => search.mock.calls.length).toBeGreaterThan(before);
  await runAgain();
  await runAgain();
  expect(new Set(pauses)).toEqual(new Set([499, 1_800, 3_800]));
  expect(shown).toHaveLength(1);
  finish();
});

it("takes a turn in the line of all requests for a run, and none while it is open", async () => {
  const shared = new WaitingLine({ atOnce: 1, maxWaiting: 10, deadlineMs: 60_000 });
  const { url } = await serve({ line: shared });
  const signal = new AbortController().signal;
  const leave = await shared.enter(signal);
  const search = vi.spyOn(searched, "searchLive");
  const { states, shown } = follow(`${url}?q=walrus`);
  await expect.poll(() => states).toContain("open");
  expect(search).not.toHaveBeenCalled();
  leave!();
  await expect.poll(() => shown.length).toBe(1);
  (await shared.enter(signal))!();
});

it("lets a page connect again if a run has no turn within the deadline", async () => {
  const shared = new WaitingLine({ atOnce: 1, maxWaiting: 0, deadlineMs: 60_000 });
  const { url } = await serve({ line: shared });
  const leave = await shared.enter(new AbortController().signal);
  const { failures, shown } = follow(`${url}?q=walrus`);
  await expect.poll(() => failures.length).toBeGreaterThan(0);
  expect(failures[0]).toMatchObject({ code: "QUERY", isFinal: false });
  leave!();
  await expect.poll(() => shown.length).toBe(1);
});

it("refuses more open searches than allowed, and takes one when another has ended", async () => {
  const { url } = await serve({ maxOpen: 1 });
  const first = follow(`${url}?q=walrus`);
  await expect.poll(() => first.shown.length).toBe(1);
  const second = follow(`${url}?q=otter`);
  await expect.poll(() => second.failures.length).toBeGreaterThan(0);
  expect(second.failures[0]).toMatchObject({ code: "TOO_MANY", status: 503, isFinal: false });
  second.subscription.close();
  first.subscription.close();
  await expect
    .poll(async () => {
      const client = new AbortController();
      const { status } = await fetch(`${url}?q=otter`, { signal: client.signal });
      client.abort();
      return status;
    })
    .toBe(200);
});

it("ends its responses when it stops, and runs no query any more", async () => {
  const { url, searches } = await serve();
  const search = vi.spyOn(searched, "searchLive");
  const response = await fetch(`${url}?q=otter`);
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  await expect.poll(() => search.mock.calls.length).toBeGreaterThan(0);
  await searches.stop();
  await response.text();
  const before = search.mock.calls.length;
  await crawl(index, { [`${site}badger`]: page("Badger", "walrus otter") });
  expect(search).toHaveBeenCalledTimes(before);
});

it("reports an error of the index, and tells the client only that there was one", async () => {
  const { url } = await serve();
  vi.spyOn(searched, "searchLive").mockRejectedValueOnce(new Error("The index is broken."));
  const response = await fetch(`${url}?q=walrus`);
  const told = await response.text();
  expect(told).toContain('"code":"QUERY"');
  expect(told).not.toContain("broken");
  expect(errors.splice(0)).toMatchObject([{ message: "The index is broken." }]);
});
