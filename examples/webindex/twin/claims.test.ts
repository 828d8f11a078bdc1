import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { packContents } from "../contents.js";
import type { Source, SourceItem } from "../sources/index.js";
import { documents } from "../tables.js";
import { type Crawl, crawlSource } from "../testing/site.js";
import { WebIndex } from "../webindex.js";
import { compareWithTwin } from "./compare.js";

const site = "https://example.org/";
const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => site + name) as [string, string, string, string];

/** Revisits with digests, as in an archive. */
function revisits(digests: Readonly<Record<string, string>>): Source {
  return {
    ...crawlSource({}),
    async *items(): AsyncGenerator<SourceItem, void> {
      for (const [url, digest] of Object.entries(digests)) {
        const at = { file: "crawl", offset: 77, position: 0, total: 0, at: 0 };
        yield { ...at, kind: "unchanged", url, digest, refersTo: url };
      }
    },
  };
}

describe("the stored pages, compared with a source", () => {
  let index: WebIndex;

  beforeEach(async () => {
    index = await WebIndex.open("memory:");
  });

  afterEach(() => index.close());

  async function verdict(source: Source) {
    await index.settle();
    await using view = await index.db.snapshot();
    const [found, ...tables] = await compareWithTwin(view, { source, heldBytes: 2_000 });
    expect(tables.every(({ different }) => different === 0)).toBe(true);
    return found!;
  }

  /** Writes a page as an incorrect loader would. */
  async function put(url: string, body: string | undefined) {
    await index.db.transact(async (tx) => {
      if (body === undefined) return tx.delete(documents.contents, url);
      tx.set(documents.contents, url, packContents({ contentType: "text/html", body: Buffer.from(body) }));
    });
  }

  it("are equal after a load, whatever is in the source, and each page counts once", async () => {
    const first: Crawl = { [a]: "one", [b]: "two", [c]: "three" };
    const source = crawlSource(first);
    await index.load(source);
    expect(await verdict(source)).toMatchObject({ table: "source", rows: 3, different: 0 });
    const next = crawlSource({ [b]: undefined, [a]: { unchanged: true }, [d]: undefined, [c]: "four" });
    await index.load(next);
    expect(await verdict(next)).toMatchObject({ rows: 4, different: 0 });
    const whole = crawlSource({ [a]: "five" }, site);
    await index.load(whole);
    expect(await verdict(whole)).toMatchObject({ rows: 1, different: 0 });
  });

  it("a revisit of other contents is found, whatever the loader did with it", async () => {
    await put(a, "old");
    await put(b, "old");
    const { createHash } = await import("node:crypto");
    const sha1 = (text: string) => `sha1:${createHash("sha1").update(text).digest("hex")}`;
    const found = await verdict(
      revisits({ [a]: sha1("new"), [b]: sha1("old"), [c]: sha1("x"), [d]: "blake9:x" }),
    );
    expect(found).toMatchObject({ rows: 4, different: 3 });
    expect(found.differences).toEqual([
      `${a}: stored with other contents than the source says, which have the digest ${sha1("new")} (crawl, byte 77)`,
      `${c}: not stored, but the source has it (crawl, byte 77)`,
      `${d}: not stored, but the source has it (crawl, byte 77)`,
    ]);
  });

  it("a page that is old or missing, or should have been deleted, is found", async () => {
    const source = crawlSource({ [a]: "one", [b]: "two", [c]: undefined, [d]: "last" });
    await put(a, "old");
    await put(c, "old");
    const { different, differences } = await verdict(source);
    expect(different).toBe(4);
    expect(differences.map((each) => each.slice(0, 40))).toEqual([
      expect.stringContaining(`${a}: stored`),
      expect.stringContaining(`${b}: not`),
      expect.stringContaining(`${c}: stored`),
      expect.stringContaining(`${d}: not`),
    ]);
  });

  it("a page that a complete source no longer lists is found, if its URL is under the source's", async () => {
    await put(`${site}x/a`, "one");
    await put("https://example.com/other", "two");
    expect(await verdict(crawlSource({ [a]: undefined }, site))).toMatchObject({ different: 1 });
  });
});
