import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clusters, documents, links, postings, shards } from "../tables.js";
import { crawl, page } from "../testing/site.js";
import { WebIndex } from "../webindex.js";
import { compareWithTwin } from "./compare.js";
import { isEqual } from "./verify.js";

const a = "https://example.org/a";
const b = "https://example.org/b";

describe("the comparison with the twin", () => {
  let index: WebIndex;

  beforeEach(async () => {
    index = await WebIndex.open("memory:");
    await crawl(index, { [a]: page("A", "walrus", { [b]: "otter" }), [b]: page("B", "badger") });
  });

  afterEach(() => index.close());

  async function differences() {
    await using view = await index.db.snapshot();
    const verdicts = await compareWithTwin(view);
    expect(isEqual({ verdicts, memory: undefined })).toBe(verdicts.every(({ different }) => different === 0));
    return verdicts
      .filter(({ different }) => different > 0)
      .map(({ table, different }) => `${table} ${different}`);
  }

  it("finds nothing in a sound index, and counts what it compared", async () => {
    await using view = await index.db.snapshot();
    const verdicts = await compareWithTwin(view);
    expect(verdicts.map(({ table, rows, different }) => [table, rows > 0, different])).toEqual([
      ["documents", true, 0],
      ["clusters", true, 0],
      ["links", true, 0],
      ["postings", true, 0],
      ["shards", true, 0],
    ]);
  });

  it("finds a cell that is wrong, missing or superfluous, in any table", async () => {
    await index.db.transact((tx) => tx.set(documents.rank, a, 7));
    expect(await differences()).toEqual(["documents 1"]);
    await index.db.transact((tx) => tx.delete(documents.rank, a));
    expect(await differences()).toEqual(["documents 1"]);
    await index.db.transact((tx) => tx.set(clusters.canonical, "zzz", a));
    await index.db.transact((tx) => tx.set(links.sources.at("x"), ["https://example.org", 99], ""));
    await index.db.transact(async (tx) => {
      for await (const { row, value } of tx.scan(postings.documents, { limit: 1 })) {
        const [bucket] = value.keys();
        tx.delete(postings.documents.at(bucket!), row);
      }
    });
    await index.db.transact((tx) => tx.set(shards.waiting.at("x"), "00", [a, null, null, 1]));
    expect(await differences()).toEqual(["documents 1", "clusters 1", "links 1", "postings 1", "shards 1"]);
  });

  it("reports the place, with the actual and the expected value", async () => {
    await index.db.transact((tx) => tx.set(documents.title, b, "C"));
    await using view = await index.db.snapshot();
    const [found] = await compareWithTwin(view);
    expect(found?.differences).toEqual([`documents/${b}/title: "C", the twin has "B"`]);
  });
});
