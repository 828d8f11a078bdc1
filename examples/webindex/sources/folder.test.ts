import { symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { extract } from "../text/index.js";
import { fileUrl } from "./files.js";
import { folderSource } from "./folder.js";
import { openSource } from "./index.js";
import { maxBodyBytes, SourceError } from "./page.js";
import { all, line, only, Scratch } from "./testing/files.js";

const base = "https://example.org/docs";

test("HTML and Markdown files, ordered by path, with URLs below the base", async () => {
  await using scratch = await Scratch.make();
  const names = [
    "b.md",
    "a/z.html",
    "a b/ü?#%.htm",
    "a.markdown",
    "UP.HTML",
    "image.png",
    "readme",
    ".hidden/x.md",
  ];
  for (const name of [...names, "node_modules/p/README.md", ".git/x.html"]) await scratch.write(name, "text");
  const items = await all(folderSource(scratch.path, base));
  expect(items.map(line)).toEqual([
    "page https://example.org/docs/UP.HTML",
    "page https://example.org/docs/a%20b/%C3%BC%3F%23%25.htm",
    "page https://example.org/docs/a.markdown",
    "page https://example.org/docs/a/z.html",
    "page https://example.org/docs/b.md",
  ]);
  expect(only(items, "page").map(({ contentType }) => contentType)).toEqual([
    "text/html",
    "text/html",
    "text/markdown",
    "text/html",
    "text/markdown",
  ]);
  expect(items.map(({ position }) => position)).toEqual([4, 8, 12, 16, 20]);
  expect(items.at(-1)?.total).toBe(20);
});

test("without a base the URL is that of the file, and all are under the scope", async () => {
  await using scratch = await Scratch.make();
  const path = await scratch.write("a b/x.md", "text");
  const source = folderSource(scratch.path);
  expect(only(await all(source), "page").map(({ url }) => url)).toEqual([pathToFileURL(path).href]);
  expect(source.scope).toBe(`${pathToFileURL(scratch.path).href}/`);
});

test("relative links lead to the URLs of the files", async () => {
  await using scratch = await Scratch.make();
  await scratch.write("index.md", "[a](<a b/ü.md>) [b](./c%3Ad.html)");
  await scratch.write("a b/ü.md", "x");
  await scratch.write("c:d.html", "x");
  for (const source of [folderSource(scratch.path), folderSource(scratch.path, base)]) {
    const items = only(await all(source), "page");
    const index = items.find(({ url }) => url.endsWith("/index.md"))!;
    const links = extract(index.body, index.contentType, index.url).links.map(({ url }) => url);
    expect(links[0]).toBe(items.find(({ url }) => url.includes("%C3%BC"))?.url);
    expect(fileUrl("c:d.html", source.scope!)).toBe(`${source.scope}c:d.html`);
  }
});

test("symbolic links: loops end, a page keeps the path of its real folder, broken links are skipped", async () => {
  await using scratch = await Scratch.make();
  await using outside = await Scratch.make();
  await scratch.write("v2/page.md", "text");
  await outside.write("more.md", "text");
  await symlink("v2", join(scratch.path, "latest"));
  await symlink("..", join(scratch.path, "v2/up"));
  await symlink(outside.path, join(scratch.path, "other"));
  await symlink(outside.path, join(scratch.path, "other-again"));
  await symlink(scratch.path, join(outside.path, "back"));
  await symlink("nowhere", join(scratch.path, "dangling.md"));
  await symlink("self.md", join(scratch.path, "self.md"));
  await symlink("v2/page.md", join(scratch.path, "alias.md"));
  expect((await all(folderSource(scratch.path, base))).map(line)).toEqual([
    "page https://example.org/docs/alias.md",
    "page https://example.org/docs/other/more.md",
    "page https://example.org/docs/v2/page.md",
  ]);
});

test("files that are too long or binary, or whose URL is too long", async () => {
  await using scratch = await Scratch.make();
  const huge = await scratch.write("a.html", "");
  await truncate(huge, maxBodyBytes + 1);
  await scratch.write("b.html", new Uint8Array([0x89, 0x50, 0, 1, 2, 3]));
  await scratch.write(`${"ü".repeat(100)}/${"ü".repeat(100)}.md`, "x");
  await scratch.write("z.md", "x");
  const items = await all(folderSource(scratch.path, base));
  expect(items.map(({ kind }) => kind)).toEqual(["problem", "skipped", "page", "problem"]);
  expect(only(items, "problem").map(({ message, url }) => [message, url?.length])).toEqual([
    [`The page is too long; at most ${maxBodyBytes} bytes are loaded`, 31],
    ["Its URL is longer than 1200 bytes", 1229],
  ]);
});

test("a file that vanishes during the read is reported as a problem of its page", async () => {
  await using scratch = await Scratch.make();
  await scratch.write("a.md", "x");
  const gone = await scratch.write("b.md", "x");
  const { rm } = await import("node:fs/promises");
  const items = [];
  for await (const item of folderSource(scratch.path, base).items()) {
    items.push(item);
    await rm(gone, { force: true });
  }
  expect(items.map(({ kind }) => kind)).toEqual(["page", "problem"]);
  expect(items[1]).toMatchObject({
    url: "https://example.org/docs/b.md",
    message: expect.stringMatching(/ENOENT/),
  });
});

test("an invalid base", async () => {
  await using scratch = await Scratch.make();
  for (const wrong of ["docs", "https://example.org/?a", "https://example.org/#a", "mailto:a@example.org"]) {
    await expect(openSource(scratch.path, { base: wrong })).rejects.toThrow(SourceError);
  }
});

test("an aborted signal ends the read with its reason", async () => {
  await using scratch = await Scratch.make();
  await scratch.write("a.md", "x");
  await expect(all(folderSource(scratch.path).items(AbortSignal.abort(new Error("enough"))))).rejects.toThrow(
    "enough",
  );
});
