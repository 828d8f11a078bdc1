import { open } from "percolatordb";
import { describe, expect, it } from "vitest";
import { packContents, unpackContents } from "./contents.js";
import { AnchorSample, anchorLimits, describePage, mergeLinks } from "./derive.js";
import { pageId, shardNames } from "./identity.js";
import { extract } from "./observers/extract.js";
import { documents, memberKey, memberUrl, tables } from "./tables.js";
import { inKeyOrder } from "./twin/order.js";

describe("contents", () => {
  it("unpack to the packed contents", () => {
    const body = Buffer.from([0, 1, 255, 128]);
    const { contentType, body: found } = unpackContents(
      packContents({ contentType: "text/html; charset=utf-8", body }),
    );
    expect(contentType).toBe("text/html; charset=utf-8");
    expect(Buffer.from(found)).toEqual(body);
    expect(unpackContents(packContents({ contentType: "", body: Buffer.alloc(0) })).body).toHaveLength(0);
  });
});

describe("a page's description", () => {
  const html =
    '<title>T</title><p>one two</p><a href="/x">here</a> <a href="/x#y">there</a> <a href="/x">here</a>';
  const contents = (contentType: string) => packContents({ contentType, body: Buffer.from(html) });

  it("is read from its bytes", () => {
    const page = describePage(contents("text/html"), "https://example.org/");
    expect(page.title).toBe("T");
    expect(page.links).toEqual([["https://example.org/x", "here there"]]);
    expect(page.words).toContain("one 1");
  });

  it("hashes only the body", () => {
    const one = describePage(contents("text/html"), "https://example.org/1");
    expect(describePage(contents("text/html; charset=utf-8"), "https://example.org/2").hash).toBe(one.hash);
    const other = packContents({ contentType: "text/html", body: Buffer.from(`${html} `) });
    expect(describePage(other, "https://example.org/1").hash).not.toBe(one.hash);
  });

  it("limits the anchor text of one link, without half a character at the end", () => {
    const long = Array.from({ length: 300 }, (_, index) => ({ url: "u", text: `\u{1f600}${index}` }));
    const [[, anchor] = ["", ""]] = mergeLinks(long);
    expect(anchor.length).toBeLessThanOrEqual(500);
    expect(Buffer.from(anchor).toString()).toBe(anchor);
  });
});

it("counts at most 50,000 different terms of a page, and says if it has more", () => {
  const described = (count: number) => {
    const body = Buffer.from(Array.from({ length: count }, (_, at) => `w${at}`).join(" "));
    return describePage(packContents({ contentType: "text/html", body }), "https://example.org/");
  };
  expect(described(50_000).truncated).toBeUndefined();
  expect(described(50_001).truncated).toBe("terms");
});

describe("very many long links", () => {
  const page = (name: string, count: number) => {
    const links = Array.from({ length: count }, (_, at) => `<a href=${name}${at}>`).join("");
    const body = Buffer.from(`<base href="/${"x".repeat(1_100)}/">${links}`);
    return packContents({ contentType: "text/html", body });
  };

  it("are cut off, so that they can be written, and replaced by others", async () => {
    await using db = await open("memory:", { tables, observers: [extract] });
    const url = "https://example.org/";
    for (const name of ["a", "b"]) {
      await db.transact(async (tx) => tx.set(documents.contents, url, page(name, 20_000)));
      await db.drain();
      await using view = await db.snapshot();
      const links = await view.get(documents.links, url);
      expect(links![0]![0]).toMatch(new RegExp(`/${name}0$`));
      expect(links!.length).toBeGreaterThan(5_000);
      expect(await view.get(documents.truncated, url)).toBe("links");
    }
  });
});

describe("an anchor sample", () => {
  it("counts equal texts, skips empty ones, and ends at its limit", () => {
    const sample = new AnchorSample();
    for (const text of ["a", "", "b", "a"]) sample.add(text);
    expect(sample.anchors).toEqual([
      ["a", 2],
      ["b", 1],
    ]);
    while (sample.left > 0) sample.add("c");
    sample.add("d");
    expect(sample.anchors.at(-1)).toEqual(["c", anchorLimits.links - 4]);
  });
});

describe("names", () => {
  it("sort members by rank, the highest first, then by URL", () => {
    const keys = [
      memberKey(0, "b"),
      memberKey(0, "a"),
      memberKey(250, "z"),
      memberKey(9, "y"),
      memberKey(10, "x y"),
    ];
    expect(inKeyOrder(keys).map(memberUrl)).toEqual(["z", "x y", "y", "a", "b"]);
  });

  it("put each page into one of the shards", () => {
    const names = new Set(shardNames());
    const found = new Set(
      Array.from({ length: 2_000 }, (_, index) => pageId(`https://example.org/${index}`).shard),
    );
    expect([...found].every((shard) => names.has(shard))).toBe(true);
    expect(found.size).toBe(names.size);
    expect(pageId("https://example.org/").text).toMatch(/^[\w-]{11}$/);
  });
});
