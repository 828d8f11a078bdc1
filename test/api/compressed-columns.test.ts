import {
  type AnyTable,
  bytes,
  compressed,
  type Database,
  family,
  InvalidValueError,
  json,
  open,
  SchemaError,
  table,
  text,
} from "percolatordb";
import { exactIndex, UniqueConstraintError, uniqueConstraint } from "percolatordb/recipes";
import { describe, expect, test } from "vitest";
import { bytesTable, type Column, definition, describeTable } from "../../src/schema/index.js";
import { engines, temporaryFolder, withDatabase } from "../support/databases.js";

const pages = table("pages", {
  html: compressed(text()),
  image: compressed(bytes()),
  links: compressed(json<string[]>(), { minBytes: 1 }),
  notes: family(compressed(text())),
});
const owners = uniqueConstraint("owners", pages.html, { by: (html) => html.slice(-8) });
const byFirst = exactIndex("by_first", pages.links, { by: text(), of: (links) => links.slice(0, 1) });
const tables = [pages, owners.table, byFirst.table];

/** A table whose columns have the values as the store holds them. */
function storedOf(of: AnyTable): Record<"html", Column<Uint8Array>> {
  return bytesTable(describeTable(of[definition])) as unknown as Record<"html", Column<Uint8Array>>;
}

const stored = storedOf(pages);

/** Values around the size from which they are compressed, and long ones. */
const values = [0, 1, 255, 256, 257, 1_100, 20_000, 200_000].map((length, index) => {
  const html = "<p>again and again</p>".repeat(Math.ceil(length / 22)).slice(0, length);
  return {
    row: `row ${index}`,
    html,
    image: Buffer.from(`${String.fromCharCode(0xf8 + index)}${html}`, "latin1"),
  };
});

async function fill(db: Database): Promise<void> {
  await db.transact((tx) => {
    for (const { row, html, image } of values) {
      tx.set(pages.html, row, html);
      tx.set(pages.image, row, image);
      tx.set(pages.links, row, Array(index(row)).fill(`https://example.org/${row}`));
      tx.set(pages.notes.at(html.slice(0, 3)), row, html);
    }
  });
}

const index = (row: string) => Number(row.slice(4));

describe.each(engines)("compressed columns: $store, $commit", (variant) => {
  test("are read in every way as they were written", async () => {
    await withDatabase(variant, { tables, collectEveryMs: 0 }, async (db) => {
      await fill(db);
      const expected = values.map(({ html }) => html);
      const rows = values.map(({ row }) => row);
      await using snapshot = await db.snapshot();
      await db.transact(async (tx) => {
        for (const { row } of values) tx.set(pages.html, row, "another");
        expect(await tx.get(pages.html, "row 7")).toBe("another");
      });
      expect(await snapshot.getMany(pages.html, rows)).toEqual(expected);
      for (const reverse of [false, true]) {
        const found: string[] = [];
        for await (const { value } of snapshot.scan(pages.html, { reverse })) found.push(value);
        expect(found).toEqual(reverse ? [...expected].reverse() : expected);
      }
      for await (const { row, value } of snapshot.scan(pages)) {
        const { html, image } = values[index(row)]!;
        const links = Array(index(row)).fill(`https://example.org/${row}`);
        expect(value).toEqual({
          html,
          image: new Uint8Array(image),
          links,
          notes: new Map([[html.slice(0, 3), html]]),
        });
      }
      for await (const { value } of snapshot.entries(pages.notes, "row 6")) expect(value).toBe(expected[6]);
      const versions = async () => (await db.history(pages.html, "row 6")).map(({ value }) => value?.length);
      // Another process's secondary cells may be committed a little later.
      await expect.poll(versions).toEqual(["another".length, expected[6]!.length]);
      expect(await db.check()).toEqual([]);
    });
  });

  test("keep constraints and indexes", async () => {
    await withDatabase(variant, { tables, collectEveryMs: 0 }, async (db) => {
      const long = "x".repeat(5_000);
      await db.transact((tx) => owners.set(tx, "a", `${long}--owner1`));
      await db.transact((tx) => byFirst.set(tx, "a", ["first", ...Array<string>(99).fill(long)]));
      const taken = db.transact((tx) => owners.set(tx, "b", `other ${long}--owner1`));
      await expect(taken).rejects.toThrow(UniqueConstraintError);
      await using snapshot = await db.snapshot();
      expect(await owners.find(snapshot, `--owner1`)).toBe("a");
      const found: string[] = [];
      for await (const { row } of byFirst.range(snapshot, { start: "first" })) found.push(row);
      expect(found).toEqual(["a"]);
      await db.transact((tx) => byFirst.set(tx, "a", ["second"]));
      await db.transact((tx) => owners.delete(tx, "a"));
      expect(await db.check()).toEqual([]);
    });
  });

  test("fail to be read as any damaged value does, and name the cell", async () => {
    await withDatabase(variant, { tables, collectEveryMs: 0 }, async (db) => {
      await fill(db);
      const good = await db.transact((tx) => tx.get(stored.html, "row 6"));
      expect(good!.length).toBeLessThan(1_000);
      const bad = good!.slice(0, 50);
      await db.transact((tx) => tx.set(stored.html, "row 6", bad));
      await using snapshot = await db.snapshot();
      await expect(snapshot.get(pages.html, "row 6")).rejects.toThrow(InvalidValueError);
      await expect(snapshot.get(pages.html, "row 6")).rejects.toThrow(
        /pages\.html, row "row 6": the 50 stored bytes are not a compressed value: another codec wrote/,
      );
      const scan = async () => {
        const seen: string[] = [];
        for await (const { row } of snapshot.scan(pages.html)) seen.push(row);
        return seen;
      };
      await expect(scan()).rejects.toThrow(/pages\.html, row "row 6"/);
    });
  });
});

describe("a column of an existing database", () => {
  const plain = table("pages", { html: text(), image: bytes() });
  const packed = table("pages", { html: compressed(text()), image: bytes() });
  const packedImage = table("pages", { html: text(), image: compressed(bytes()) });
  const html = "a page ".repeat(500);

  test("of text becomes compressed: old values are read, new ones are compressed", async () => {
    const folder = await temporaryFolder();
    try {
      await using before = await open(folder.path, { tables: [plain] });
      await before.transact((tx) => tx.set(plain.html, "old", html));
      await before.close();
      await using db = await open(folder.path, { tables: [packed] });
      await db.transact((tx) => tx.set(packed.html, "new", html));
      await using snapshot = await db.snapshot();
      expect(await snapshot.getMany(packed.html, ["old", "new"])).toEqual([html, html]);
      const lengths = (await snapshot.getMany(storedOf(packed).html, ["old", "new"])).map(
        (each) => each!.length,
      );
      expect(lengths).toEqual([html.length, expect.any(Number)]);
      expect(lengths[1]).toBeLessThan(100);
      expect((await db.tables()).get("pages")![definition].columns.get("html")!.codec!.tag).toBe(
        "compressed(text)",
      );
      await db.close();
      await expect(open(folder.path, { tables: [plain] })).rejects.toThrow(
        /\(a compressed column stays compressed: declare it with compressed\(\)\)/,
      );
    } finally {
      await folder.remove();
    }
  });

  test("of bytes does not, because its values could be taken for compressed ones", async () => {
    const folder = await temporaryFolder();
    try {
      await using before = await open(folder.path, { tables: [plain] });
      await before.transact((tx) => tx.set(plain.image, "old", Buffer.from([0xff, 0, 0, 0, 1, 2])));
      await before.close();
      const opened = open(folder.path, { tables: [packedImage] });
      await expect(opened).rejects.toThrow(SchemaError);
      await expect(opened).rejects.toThrow(
        /column pages\.image is recorded as column of bytes.*declare a new column/,
      );
      await using again = await open(folder.path, { tables: [plain] });
      expect(await again.transact((tx) => tx.get(plain.image, "old"))).toHaveLength(6);
    } finally {
      await folder.remove();
    }
  });
});
