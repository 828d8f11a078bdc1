import { expect, test } from "vitest";
import { charsetOf, contentTypeOfFile, looksBinary, mediaOf } from "./media.js";
import { isFollowed, maxUrlBytes, normalizeUrl, urlFitsKey } from "./url.js";

test("one spelling: no fragment, no default port, host in lower case, path normalised", () => {
  expect(normalizeUrl("HTTPS://Example.ORG:443/a/../b?c#d")).toBe("https://example.org/b?c");
  expect(normalizeUrl("http://example.org#")).toBe("http://example.org/");
  expect(normalizeUrl("b c", "https://example.org/a/x")).toBe("https://example.org/a/b%20c");
  expect(normalizeUrl("../b.md#x", "npm:/a/docs/c.md")).toBe("npm:/a/b.md");
  expect(normalizeUrl("https://example.org/\ud800")).toBe("https://example.org/%EF%BF%BD");
  expect(normalizeUrl("a")).toBeUndefined();
  expect(normalizeUrl("http://[", "https://example.org/")).toBeUndefined();
  const once = normalizeUrl("https://EXAMPLE.org:443/ü?ä#ö")!;
  expect(normalizeUrl(once)).toBe(once);
});

test("fits a key up to a length in bytes", () => {
  const of = (bytes: number) => "https://example.org/".padEnd(bytes, "a");
  expect(urlFitsKey(of(maxUrlBytes))).toBe(true);
  expect(urlFitsKey(of(maxUrlBytes + 1))).toBe(false);
  expect(urlFitsKey(`x:${"ü".repeat(maxUrlBytes / 2)}`)).toBe(false);
});

test("links lead to the web, or to a page of the same kind", () => {
  expect(isFollowed("http://a/", "https://b/")).toBe(true);
  expect(isFollowed("https://a/", "npm:/b")).toBe(true);
  expect(isFollowed("npm:/a", "npm:/b")).toBe(true);
  expect(isFollowed("file:///a", "https://b/")).toBe(false);
  expect(isFollowed("httpsx:/a", "https://b/")).toBe(false);
});

test("kinds of text, by Content-Type and by name", () => {
  expect(
    ["Text/HTML; charset=x", "application/xhtml+xml", "text/markdown", "text/plain", "image/png", ""].map(
      mediaOf,
    ),
  ).toEqual(["html", "html", "markdown", "text", undefined, undefined]);
  expect(["a.HTML", "a.htm", "a.md", "a.b.markdown", "a.txt", "md", ".md"].map(contentTypeOfFile)).toEqual([
    "text/html",
    "text/html",
    "text/markdown",
    "text/markdown",
    undefined,
    undefined,
    undefined,
  ]);
  expect(charsetOf('text/html; a=b; Charset = "UTF-8"')).toBe("utf-8");
  expect(charsetOf("text/html")).toBeUndefined();
});

test("bytes that are not text", () => {
  expect(looksBinary(Buffer.from("a\0b"), "text/html")).toBe(true);
  expect(looksBinary(Buffer.from("\x01\x02\x03\x04abcdef"), "text/html")).toBe(true);
  expect(looksBinary(Buffer.from(`${"text ".repeat(20)}\x01`), "text/html")).toBe(false);
  expect(looksBinary(Buffer.from("\ufeffa", "utf16le"), "text/html")).toBe(false);
  expect(looksBinary(Buffer.from("a", "utf16le"), "text/html; charset=utf-16le")).toBe(false);
  expect(looksBinary(Buffer.alloc(0), "text/html")).toBe(false);
});
