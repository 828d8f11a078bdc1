import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { CommandLine } from "../../../test/support/command-line.js";
import { type Database, open } from "../../database/index.js";
import { bytes, codec, compressed, definition, json, oneOf, table, text } from "../../schema/index.js";

/** Commands without the program's module show and take the values of compressed columns. */

const pages = table("pages", {
  html: compressed(text()),
  image: compressed(bytes()),
  links: compressed(json<string[]>()),
  state: compressed(oneOf("open", "closed")),
  own: compressed(
    codec<string>({
      encode: (value) => Buffer.from(value),
      decode: (stored) => Buffer.from(stored).toString(),
    }),
  ),
});
const html = "again and again ".repeat(100);
const image = Buffer.alloc(1_000, 0xff);
const links = Array.from({ length: 99 }, (_, index) => `https://example.org/${index}`);

let cli: CommandLine;

async function withPages<T>(folder: string, use: (db: Database) => Promise<T>): Promise<T> {
  await using db = await open(join(cli.folder, folder), { tables: [pages], collectEveryMs: 0 });
  return await use(db);
}

const rowOf = (folder: string, row: string) =>
  withPages(folder, async (db) => db.transact((tx) => tx.row(pages, row)));

beforeEach(async () => {
  cli = await CommandLine.create();
  await withPages("data", (db) =>
    db.transact((tx) => {
      tx.set(pages.html, "a", html);
      tx.set(pages.image, "a", image);
      tx.set(pages.links, "a", links);
      tx.set(pages.state, "a", "open");
      tx.set(pages.own, "a", html);
    }),
  );
});

it("shows them", async () => {
  const get = async (column: string) => (await cli.run(["get", "data", `pages.${column}`, "a"])).stdout;
  expect(await get("html")).toBe(`${html}\n`);
  expect(await get("image")).toBe(`${image.toString("base64")}\n`);
  expect(await get("links")).toBe(`${JSON.stringify(links)}\n`);
  expect(await get("state")).toBe("open\n");
  expect(await get("own")).toBe(`${Buffer.from(html).toString("base64")}\n`);
  const { documents } = await cli.run(["scan", "data", "pages.html", "--json"]);
  expect(documents[0]).toMatchObject({ row: "a", value: html });
});

it("writes them compressed, if no module is needed for them", async () => {
  const other = "and once more ".repeat(200);
  expect((await cli.run(["set", "data", "pages.html", "b", other])).code).toBe(0);
  expect((await cli.run(["set", "data", "pages.links", "b", JSON.stringify(links)])).code).toBe(0);
  expect((await cli.run(["set", "data", "pages.image", "b", image.toString("base64")])).code).toBe(0);
  expect(await rowOf("data", "b")).toEqual({ html: other, links, image: new Uint8Array(image) });
  const refused = async (column: string) =>
    (await cli.run(["set", "data", `pages.${column}`, "b", "b3Blbg=="])).stderr;
  expect(await refused("state")).toContain("its values have choices that only the program's module knows");
  expect(await refused("own")).toContain(
    "its values have a custom codec that only the program's module knows",
  );
  expect((await cli.run(["set", "data", "pages.state", "b", "closed", "--force"])).code).toBe(0);
  const forced = ["set", "data", "pages.own", "b", Buffer.from(html).toString("base64"), "--force"];
  expect((await cli.run(forced)).code).toBe(0);
  expect(await rowOf("data", "b")).toMatchObject({ state: "closed", own: html });
});

it("exports them as they are without compression, and imports them", async () => {
  expect((await cli.run(["export", "data", "all.jsonl"])).code).toBe(0);
  const lines = (await readFile(join(cli.folder, "all.jsonl"), "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line)).find(({ row }) => row === "a").cells).toEqual([
    ["html", html],
    ["image", image.toString("base64")],
    ["links", links],
    ["own", Buffer.from(html).toString("base64")],
    ["state", "open"],
  ]);
  expect((await cli.run(["import", "copy", "all.jsonl"])).code).toBe(0);
  expect(await rowOf("copy", "a")).toEqual(await rowOf("data", "a"));
  await withPages("copy", async (db) => {
    const recorded = (await db.tables()).get("pages")![definition].columns;
    expect(recorded.get("html")!.codec!.tag).toBe("compressed(text)");
  });
});

it("says so if it needs the module to show them", async () => {
  const { stderr } = await cli.run(["get", "data", "pages.own", "a"]);
  expect(stderr).toContain("Values of pages.own are shown as base64, because the codec is custom");
});
