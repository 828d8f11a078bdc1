import { expect, it } from "vitest";
import { crawl } from "./testing/site.js";
import { WebIndex } from "./webindex.js";

// Tens of thousands of rows are derived from each page.
it("indexes pages with the most links and terms, and lists those that have more", async () => {
  const most = "https://example.org/most";
  const links = "https://example.org/links";
  const terms = "https://example.org/terms";
  const many = (count: number, of: (index: number) => string) =>
    Array.from({ length: count }, (_, at) => of(at)).join(" ");
  const index = await WebIndex.open("memory:", {});
  try {
    await crawl(index, {
      [links]: many(20_001, (at) => `<a href="${at}">x</a>`),
      [terms]: many(50_001, (at) => `w${at}`),
      [most]: `${many(20_000, (at) => `<a href="${at}">`)} ${many(50_000, (at) => `w${at}`)}`,
    });
    expect(await index.truncated()).toEqual([
      { kind: "links", count: 1, examples: [links] },
      { kind: "terms", count: 1, examples: [terms] },
    ]);
    await crawl(index, { [links]: "less", [terms]: undefined });
    expect(await index.truncated()).toEqual([]);
  } finally {
    await index.close();
  }
});
