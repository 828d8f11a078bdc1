import { open } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";
import type {
  About,
  ConflictInsights,
  HeatMap,
  Overview,
  TransactionShown,
  Workers,
} from "../../src/dashboard/api/index.js";
import { RemoteSource } from "../../src/dashboard/sources/remote.js";
import { pages, served, tables, titles } from "./pipeline.js";

const token = "a-token-of-enough-characters";

/** Opens two databases over one store, as in two processes. */
async function two() {
  const store = memoryStore();
  const one = await open(store, { tables, observers: [titles], collectEveryMs: 0 });
  const other = await open(store, { tables, observers: [titles], collectEveryMs: 0 });
  return { one, other };
}

test("a dashboard shows what the other named dashboards have seen", async () => {
  const { one, other } = await two();
  await using first = await served(one, { token });
  await using second = await served(other, { token });
  await using named = await served(one, { from: [first.url, second.url], fromToken: token, sources: [] });
  const loser = await one.begin({ label: "loser" });
  await other.transact((tx) => tx.set(pages.body, "a", "x"), { label: "winner" });
  loser.set(pages.body, "a", "y");
  await expect(loser.commit()).rejects.toThrow("conflicts");
  await one.drain();
  expect((await named.get<About>("about")).reach).toBe("named");
  const listed = await named.get<TransactionShown[]>("transactions");
  expect(listed.map(({ label, observer }) => observer ?? label)).toEqual(
    expect.arrayContaining(["loser", "winner", "titles"]),
  );
  expect(new Set(listed.map(({ id }) => id.split(":")[0])).size).toBe(2);
  // The winner ran in another process than the loser, so it is known only after the next request.
  await expect
    .poll(async () => (await named.get<ConflictInsights>("conflicts")).pairs, {
      timeout: 30_000,
      interval: 50,
    })
    .toMatchObject([{ loser: "loser", winner: "winner", count: 1 }]);
  const commits = async () => {
    const { values } = (await named.get<Overview>("overview")).commits;
    return values.reduce((sum, each) => sum + each, 0);
  };
  await expect.poll(commits).toBeGreaterThanOrEqual(2);
  const heat = await named.get<HeatMap>("heat?table=pages&metric=writes");
  expect(heat.ranges).toEqual(["a"]);
  await one.close();
  await other.close();
});

test("a winner whose process is not named is said to be unseen, and its column gets no guess as advice", async () => {
  const { one, other } = await two();
  await using first = await served(one);
  const loser = await one.begin({ label: "loser" });
  await other.transact((tx) => tx.set(pages.body, "a", "x"), { label: "winner" });
  loser.set(pages.body, "a", "y");
  await expect(loser.commit()).rejects.toThrow("conflicts");
  const { pairs } = await first.get<ConflictInsights>("conflicts");
  expect(pairs).toMatchObject([{ loser: "loser", winner: "unseen transaction", count: 1 }]);
  expect(pairs[0]!.advice).toContain("What wins is not seen here");
  await one.close();
  await other.close();
});

test("a dashboard that does not answer is named, and the rest is shown", async () => {
  const { one, other } = await two();
  await using first = await served(one, { token });
  await using named = await served(one, {
    from: [first.url, "http://127.0.0.1:1/"],
    fromToken: token,
    sources: [],
  });
  await using refused = await served(one, { from: [first.url], fromToken: `${token}x`, sources: [] });
  await one.transact((tx) => tx.set(pages.body, "a", "x"), { label: "load" });
  const listed = await named.get<TransactionShown[]>("transactions");
  expect(listed.map(({ label }) => label)).toEqual(["load"]);
  expect((await named.get<Workers>("workers")).unheard).toMatchObject([{ name: "http://127.0.0.1:1" }]);
  const { unheard } = await refused.get<Workers>("workers");
  expect(unheard?.[0]?.error).toContain("401");
  await one.close();
  await other.close();
});

test("of two dashboards at one origin, that which does not answer is named with its path", async () => {
  const { one, other } = await two();
  await using first = await served(one);
  const origin = first.url.replace(/\/$/, "");
  for (const from of [
    [`${origin}/gone/`, origin],
    [origin, `${origin}/gone/`],
  ]) {
    await using named = await served(one, { from, sources: [] });
    const { unheard } = await named.get<Workers>("workers");
    expect(unheard?.map(({ name }) => name)).toEqual([`${origin}/gone`]);
  }
  await one.close();
  await other.close();
});

test("two that name each other do not ask each other endlessly", async () => {
  const { one, other } = await two();
  await using first = await served(one);
  await using second = await served(other, { from: [first.url] });
  const back = new RemoteSource(second.url, undefined);
  const reports = await back.reports({ after: {}, who: [] }, new AbortController().signal);
  expect(reports.length).toBe(1);
  await one.close();
  await other.close();
});

test("without a process to ask, only the contents of the store are shown", async () => {
  const { one, other } = await two();
  await using dashboard = await served(one, { sources: [] });
  await one.transact((tx) => tx.set(pages.body, "a", "x"));
  const overview = await dashboard.get<Overview>("overview");
  expect(overview).toMatchObject({ reach: "store", pending: { count: 1 }, commitsPerSecond: 0 });
  expect(await dashboard.get("transactions")).toEqual([]);
  await one.close();
  await other.close();
});
