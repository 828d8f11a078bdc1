import { expect, it } from "vitest";
import { LoadCounts } from "./load/report.js";
import { printLoad } from "./print.js";

function skipped(...reasons: readonly string[]): LoadCounts {
  const counts = new LoadCounts("one.warc.gz");
  for (const [at, reason] of reasons.entries()) {
    counts.skip({ file: "one.warc.gz", offset: at, url: "https://example.org/", reason });
  }
  return counts;
}

it.each([
  [
    "HTTP status 302",
    "a redirect has no text of its own; the page that it leads to is indexed if the source has it",
  ],
  ["HTTP status 404", "the page is gone, and was not in the index"],
  ["HTTP status 410", "the page is gone, and was not in the index"],
  ["HTTP status 503", "the server answered with an error instead of the page"],
  ["not a text, but image/png", "only HTML, Markdown and plain text are indexed"],
  ["not of the web, but ftp:", "only pages of http and https are indexed"],
  ["not HTTP, but text/dns", "the record has no answer of a web server"],
  [
    "unchanged, never loaded, and no page by its name",
    "its name is that of an image or another file without text",
  ],
])("says why a page is of no use: %s", (reason, why) => {
  const lines = printLoad(skipped(reason, reason), 1, 5).split("\n");
  expect(lines).toContain("  0 added, 0 changed, 0 unchanged, 0 deleted, 2 of no use");
  expect(lines.slice(lines.indexOf("  of no use:") + 1)).toEqual([
    `    2 ${reason}: ${why}`,
    "      one.warc.gz (https://example.org/)",
    "      one.warc.gz, byte 1 (https://example.org/)",
  ]);
});

it("shows a reason without an explanation as it is, and says if nothing is left to search", () => {
  const text = printLoad(skipped("other reasons"), 1, 0);
  expect(text).toContain("\n    1 other reasons\n");
  expect(text).toContain("There is nothing to search, because all of it was of no use.");
  expect(printLoad(skipped(), 1, 0)).not.toContain("of no use");
});
