import { describe, expect, it } from "vitest";
import { packContents } from "../contents.js";
import { page, seeded } from "../testing/site.js";
import { BatchIndex } from "./batch.js";
import { SortedIndex } from "./sorted.js";

/**
 * A site with duplicates, pages with many incoming links, broken links, and texts in several
 * scripts.
 */
function site(seed: number, pages: number): Map<string, Uint8Array> {
  const random = seeded(seed);
  const words = "ant bee cat Füchse дом 日本語 naïve 😀 eel".split(" ");
  const url = () => `https://example.org/${["", "ü", "a/", "😀"][random(4)]}${random(pages)}`;
  const text = () => Array.from({ length: random(30) }, () => words[random(words.length)]).join(" ");
  const contents = new Map<string, Uint8Array>();
  for (let number = 0; number < pages; number++) {
    const links = Object.fromEntries(Array.from({ length: random(9) }, () => [url(), text()]));
    if (random(2) === 0) links["https://example.org/home"] = words[random(words.length)]!;
    const html = random(3) === 0 ? page("Same", words[random(3)]!) : page(text(), text(), links);
    contents.set(new URL(url()).href, packContents({ contentType: "text/html", body: Buffer.from(html) }));
  }
  contents.set(
    "https://example.org/home",
    packContents({ contentType: "text/html", body: Buffer.from("home") }),
  );
  return contents;
}

const tablesOf = (tables: ReturnType<BatchIndex["build"]>) =>
  Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, [...rows]]));

describe("the twin that sorts", () => {
  it.each([
    [1, 3],
    [2, 60],
    [3, 700],
  ])(
    "makes the same tables as the twin in memory (seed %i, %i pages), with very little memory",
    (seed, pages) => {
      const contents = site(seed, pages);
      const memory = new BatchIndex();
      for (const [url, packed] of contents) memory.add(url, packed);
      const expected = tablesOf(memory.build());
      for (const heldBytes of [2_000, 20_000, undefined]) {
        if (heldBytes === 2_000 && pages > 100) continue;
        using twin = new SortedIndex(heldBytes);
        for (const [url, packed] of contents) twin.add(url, packed);
        expect(tablesOf(twin.build())).toEqual(expected);
      }
    },
  );

  it("stays within the limits of its sorts for pages of a hundred times as many bytes", () => {
    const heldBytes = 50_000;
    using twin = new SortedIndex(heldBytes);
    let bytes = 0;
    let most = 0;
    for (const [url, packed] of site(4, 5_000)) {
      const long = Buffer.concat([packed, Buffer.from(`<!-- ${"x".repeat(8_000)} -->`)]);
      bytes += long.length;
      twin.add(url, long);
      most = Math.max(most, twin.heldBytes);
    }
    let rows = 0;
    for (const table of Object.values(twin.build())) {
      for (const _ of table) {
        rows++;
        most = Math.max(most, twin.heldBytes);
      }
    }
    expect(rows).toBeGreaterThan(2_000);
    expect(most).toBeLessThanOrEqual(6 * heldBytes);
    expect(bytes).toBeGreaterThan(100 * 6 * heldBytes - 1_000_000);
  });
});
