import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { type Database, type Observer, open } from "percolatordb";
import { type OpenWithHooksOptions, SeededRandom, StepHooks } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { temporaryFolder, type Variant, variants, withDatabase } from "../../test/support/databases.js";
import { differences } from "./batch.js";
import { decodeVector, embedByFeatureHashing, encodeVector, similarity } from "./feature-hashing.js";
import { loadFolder, setDocument } from "./folder.js";
import { observersOf } from "./observers.js";
import { nearest } from "./search.js";
import { maxWords, reach, split } from "./split.js";
import { chunks, documents, tables, vectors } from "./tables.js";

const quick = { tables, durability: "none", collectEveryMs: 0 } as const;

const different = async (db: Database) => {
  await using view = await db.snapshot();
  return await differences(view);
};

/** A text with this many words, determined by the seed. */
function wordsOf(seed: string, count: number): string {
  const random = new SeededRandom(seed);
  return Array.from({ length: count }, () => `${seed}${random.below(10_000)}`).join(" ");
}

describe("chunks", () => {
  const anyText = fc.array(fc.constantFrom("a", "bb", "ccc", "d.", " ", "\n", "é", "👍"), { maxLength: 400 });

  test("can be joined to the text, and none is empty or too long", () => {
    fc.assert(
      fc.property(anyText, (parts) => {
        const text = parts.join("");
        const found = split(text);
        expect(found.map((chunk) => chunk.text).join("")).toBe(text);
        for (const chunk of found) {
          expect(chunk.text).not.toBe("");
          expect(chunk.text.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(maxWords);
        }
      }),
    );
    expect(split("")).toEqual([]);
    expect(split(" \n")).toHaveLength(1);
    expect(split("same ".repeat(1_000))).toHaveLength(5);
  });

  test("have about the right number of words", () => {
    const lengths = split(wordsOf("x", 5_000)).map(({ text }) => text.trim().split(" ").length);
    expect(Math.min(...lengths)).toBeGreaterThan(reach - 1);
    expect(5_000 / lengths.length).toBeGreaterThan(1.5 * reach);
    expect(5_000 / lengths.length).toBeLessThan(3 * reach);
  });

  test("before and after an edit stay the same", () => {
    const text = wordsOf("x", 2_000);
    const before = split(text).map(({ id }) => id);
    fc.assert(
      fc.property(fc.nat(1_999), fc.nat(10), fc.nat(10), (place, removed, added) => {
        const words = text.split(" ");
        words.splice(place, removed, ...Array.from({ length: added }, (_, index) => `new${index}`));
        const after = new Set(split(words.join(" ")).map(({ id }) => id));
        const gone = before.filter((id) => !after.has(id));
        expect(gone.length).toBeLessThanOrEqual(4);
        expect(after.size - (before.length - gone.length)).toBeLessThanOrEqual(4);
      }),
    );
  });
});

describe("embeddings by feature hashing", () => {
  test("are near for texts that share words, and have length 1", () => {
    const [one, near, far] = ["The red fox runs home", "a red fox ran home", "Stock prices fell sharply"].map(
      embedByFeatureHashing,
    );
    expect(similarity(one!, one!)).toBeCloseTo(1);
    expect(similarity(one!, near!)).toBeGreaterThan(0.3);
    expect(similarity(one!, far!)).toBeLessThan(0.2);
    expect(similarity(embedByFeatureHashing("?!"), one!)).toBe(0);
  });

  test("have the same bytes on every machine", () => {
    const vector = embedByFeatureHashing("walrus");
    expect(decodeVector(encodeVector(vector))).toEqual(vector);
    const places = [...vector.entries()].filter(([, value]) => value !== 0);
    expect(places).toEqual([[expect.any(Number), expect.any(Number)]]);
    expect(Math.abs(places[0]![1])).toBe(1);
  });
});

/** Runs a test with a database and its observers, and counts the computed embeddings. */
async function withIndex(
  variant: Variant,
  use: (db: Database, count: () => number) => Promise<void>,
  options: OpenWithHooksOptions = {},
): Promise<void> {
  let embedded = 0;
  const observers: readonly Observer[] = observersOf(() => embedded++);
  await withDatabase(variant, { ...quick, ...options, observers }, (db) => use(db, () => embedded));
}

describe.each(variants)("on $store, $commit", (variant) => {
  test("an edit embeds only the chunks that changed", async () => {
    await withIndex(variant, async (db, count) => {
      const embeds = async (path: string, text: string | undefined) => {
        const before = count();
        await db.transact((tx) =>
          text === undefined ? tx.delete(documents.text, path) : tx.set(documents.text, path, text),
        );
        await db.drain();
        expect(await different(db)).toEqual([]);
        return count() - before;
      };
      const text = wordsOf("x", 1_000);
      const all = split(text).length;
      expect(all).toBeGreaterThan(10);
      expect(await embeds("a", text)).toBe(all);
      expect(await embeds("a", text)).toBe(0);
      const edited = text.replace(/ (\S+) (\S+)$/, " $1 changed");
      expect(await embeds("a", edited)).toBe(1);
      expect(await embeds("b", edited)).toBe(0);
      expect(await embeds("a", undefined)).toBe(0);
      expect(await embeds("b", `${text} and more`)).toBe(1);
      expect(await embeds("b", undefined)).toBe(0);
      await using view = await db.snapshot();
      for (const table of tables) for await (const row of view.scan(table)) expect(row).toBeUndefined();
    });
  });

  test("a chunk that one document loses while another gets it is kept", async () => {
    const hooks = new StepHooks();
    await withIndex(
      variant,
      async (db) => {
        await db.transact((tx) => tx.set(documents.text, "a", "a walrus"));
        await db.drain();
        const step = variant.commit === "auto" ? "one-phase-commit" : "prewrite";
        const pause = hooks.pauseBefore(step, ({ label }) => label === "forget");
        await using worker = db.work();
        await db.transact((tx) => tx.delete(documents.text, "a"));
        await pause.reached;
        const isCut = new Promise<void>((resolve) => {
          db.on("run", ({ observer, outcome }) => {
            if (observer === "cut" && outcome === "committed") resolve();
          });
        });
        await db.transact((tx) => tx.set(documents.text, "b", "a walrus"));
        await isCut;
        pause.resume();
        await worker.idle();
        expect(await different(db)).toEqual([]);
      },
      { hooks },
    );
  });

  test("a search skips a chunk that is being removed", async () => {
    await withIndex(variant, async (db) => {
      await db.transact((tx) => tx.set(documents.text, "a", "a walrus"));
      await db.transact((tx) => tx.set(documents.text, "b", "an otter"));
      await db.drain();
      {
        await using worker = db.work({ observers: ["cut", "forget"] });
        await db.transact((tx) => tx.delete(documents.text, "a"));
        await worker.idle();
        await using view = await db.snapshot();
        expect((await nearest(view, "walrus")).map(({ text }) => text)).toEqual(["an otter"]);
      }
      await db.drain();
      expect(await different(db)).toEqual([]);
    });
  });

  test("any edits, many concurrently, lead to the index that is built from scratch", async () => {
    const pieces = ["p", "q", "r"].map((seed) => wordsOf(seed, 70));
    const anyText = fc
      .array(fc.constantFrom(...pieces, "and"), { maxLength: 3 })
      .map((parts) => parts.join(" "));
    const anyEdit = fc.tuple(fc.constantFrom("a", "b", "c"), fc.option(anyText, { nil: undefined }));
    const few = { numRuns: variant.store === "memory" ? 8 : 4 };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(anyEdit, { maxLength: 4 }), { maxLength: 6 }), async (batches) => {
        await withIndex(variant, async (db) => {
          await using worker = db.work();
          for (const edits of batches) {
            await Promise.all(
              edits.map(([path, text]) =>
                db.transact((tx) =>
                  text === undefined ? tx.delete(documents.text, path) : tx.set(documents.text, path, text),
                ),
              ),
            );
          }
          await worker.idle();
          expect(await different(db)).toEqual([]);
        });
      }),
      few,
    );
  });
});

test("the nearest chunks are found with their documents, but removed chunks are not", async () => {
  await using db = await open("memory:", { ...quick, observers: observersOf() });
  const texts = {
    a: "The walrus sleeps on ice",
    b: "Stock prices fell",
    c: "A walrus eats clams on the ice",
  };
  for (const [path, text] of Object.entries(texts)) await setDocument(db, path, text);
  await setDocument(db, "copy", texts.c);
  await db.drain();
  {
    await using view = await db.snapshot();
    const found = await nearest(view, "what does a walrus eat on the ice", 2);
    expect(found.map(({ text, documents }) => [text, documents])).toEqual([
      [texts.c, ["c", "copy"]],
      [texts.a, ["a"]],
    ]);
    expect(found[0]!.similarity).toBeGreaterThan(found[1]!.similarity);
    expect(await nearest(view, "walrus", 10)).toHaveLength(3);
  }
  await db.transact((tx) => tx.delete(documents.text, "a"));
  await db.drain();
  await using view = await db.snapshot();
  expect((await nearest(view, "walrus", 10)).map(({ text }) => text)).not.toContain(texts.a);
});

test("a folder is loaded, and loaded again only if it changed", async () => {
  await using db = await open("memory:", { ...quick, observers: observersOf() });
  const folder = await temporaryFolder();
  try {
    const write = async (path: string, text: string) => {
      await mkdir(join(folder.path, path, ".."), { recursive: true });
      await writeFile(join(folder.path, path), text);
    };
    await write("a.md", "A");
    await write("deep/b.md", "B");
    await write("c.txt", "not Markdown");
    await write(".hidden/d.md", "D");
    expect(await loadFolder(db, folder.path)).toEqual({ documents: 2, changed: 2, deleted: 0 });
    expect(await loadFolder(db, folder.path)).toEqual({ documents: 2, changed: 0, deleted: 0 });
    await write("a.md", "A again");
    await rm(join(folder.path, "deep/b.md"));
    expect(await loadFolder(db, folder.path)).toEqual({ documents: 1, changed: 1, deleted: 1 });
    const here = process.cwd();
    process.chdir(folder.path);
    const same = loadFolder(db, ".").finally(() => process.chdir(here));
    expect(await same).toEqual({ documents: 1, changed: 0, deleted: 0 });
    await db.drain();
    expect(await different(db)).toEqual([]);
    await using view = await db.snapshot();
    expect(await view.get(documents.text, "a.md")).toBe("A again");
  } finally {
    await folder.remove();
  }
});

test("the comparison finds wrong, missing and superfluous cells", async () => {
  await using db = await open("memory:", { ...quick, observers: observersOf() });
  await setDocument(db, "a", "a walrus");
  await db.drain();
  const { id } = split("a walrus")[0]!;
  await db.transact((tx) => {
    tx.delete(vectors.vector, id);
    tx.set(chunks.documents.at("b"), id, "");
    tx.set(chunks.text, id, "another");
  });
  expect((await different(db)).toSorted()).toEqual([
    `chunks ${id} documents:b`,
    `chunks ${id} text`,
    `vectors ${id} vector`,
  ]);
});
