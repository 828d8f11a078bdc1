import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openDefaultSource, openSource, SourceError } from "./index.js";
import { gzipEach, pages } from "./testing/archive.js";
import { all, line, Scratch } from "./testing/files.js";

describe("the type of a path", () => {
  test("an archive, by its name or its first bytes", async () => {
    await using scratch = await Scratch.make();
    for (const [name, bytes] of [
      ["a.warc.gz", gzipEach(pages(1))],
      ["a.WARC", pages(1)[0]!],
      ["a", pages(1)[0]!],
      ["b", gzipEach(pages(1))],
    ] as const) {
      const source = await openSource(await scratch.write(name, bytes));
      expect(source).toMatchObject({ kind: "archive", scope: undefined });
      expect((await all(source)).map(({ kind }) => kind)).toEqual(["page"]);
    }
  });

  test("an archive with a damaged first byte, by its name", async () => {
    await using scratch = await Scratch.make();
    for (const bytes of ["", "nothing"]) {
      const source = await openSource(await scratch.write("a.warc.gz", bytes));
      expect((await all(source)).map(({ kind }) => kind)).toEqual(["problem"]);
    }
  });

  test("a folder, and the packages of a project", async () => {
    await using scratch = await Scratch.make();
    await scratch.write("node_modules/a/README.md", "x");
    expect(await openSource(scratch.path)).toMatchObject({ kind: "folder" });
    expect(await openSource(`${scratch.path}/node_modules/`)).toMatchObject({
      kind: "modules",
      scope: "npm:/",
    });
  });

  test("not a source", async () => {
    await using scratch = await Scratch.make();
    const text = await scratch.write("notes.txt", "text");
    const archive = await scratch.write("a.warc", pages(1)[0]!);
    await expect(openSource(join(scratch.path, "none.warc"))).rejects.toThrow(
      /no such file or folder: .*none\.warc.*Give/,
    );
    await expect(openSource(text)).rejects.toThrow(/notes\.txt is no web archive.*the folder/);
    await expect(openSource(archive, { base: "https://example.org/" })).rejects.toThrow(
      /base for folders only/,
    );
    await expect(openSource("/dev/null")).rejects.toThrow(SourceError);
  });
});

describe("the packages of a project", () => {
  test("every Markdown and HTML file of every package: scoped, nested, linked, repeated", async () => {
    await using scratch = await Scratch.make();
    for (const name of [
      "a/README.md",
      "a/docs/deep/er.md",
      "a/node_modules/b/README.md",
      "b/README.md",
      "b/index.js",
      "b/docs/index.html",
      "@scope/c/CHANGELOG.md",
      ".bin/x.md",
      ".store/d@1/node_modules/d/README.md",
    ]) {
      await scratch.write(`node_modules/${name}`, "text");
    }
    await symlink(".store/d@1/node_modules/d", join(scratch.path, "node_modules/d"));
    await scratch.write("src/inner/file.ts", "");
    const source = await openDefaultSource(join(scratch.path, "src/inner"));
    expect((await all(source)).map(line)).toEqual([
      "page npm:/@scope/c/CHANGELOG.md",
      "page npm:/a/README.md",
      "page npm:/a/docs/deep/er.md",
      "page npm:/a/node_modules/b/README.md",
      "page npm:/b/README.md",
      "page npm:/b/docs/index.html",
      "page npm:/d/README.md",
    ]);
  });

  test("under a given base", async () => {
    await using scratch = await Scratch.make();
    await scratch.write("node_modules/a/README.md", "x");
    const source = await openSource(join(scratch.path, "node_modules"), { base: "npm:/other" });
    expect((await all(source)).map(line)).toEqual(["page npm:/other/a/README.md"]);
    expect(source.scope).toBe("npm:/other/");
  });

  test("if there are none", async () => {
    await expect(openDefaultSource("/")).rejects.toThrow(/no node_modules folder/);
  });
});

test("a gzip archive without records is read and reported", async () => {
  await using scratch = await Scratch.make();
  const source = await openSource(await scratch.write("a.tgz", gzipSync("no records")));
  expect((await all(source)).map(({ kind }) => kind)).toEqual(["problem"]);
});
