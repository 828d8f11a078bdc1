import { bytes, family, type Logger, open, SchemaError, table, text } from "percolatordb";
import { expect, it } from "vitest";
import { newPlace, removePlace } from "../../test/support/postgres/index.js";
import { packContents } from "./contents.js";
import { observers } from "./observers/index.js";
import { Scratch } from "./sources/testing/files.js";
import { documents, tables } from "./tables.js";
import { crawl, page } from "./testing/site.js";
import { WebIndex } from "./webindex.js";

it("logs background failures to its logger", async () => {
  const said: string[] = [];
  let logger: Logger | undefined;
  const warned = new Promise<void>((resolve) => {
    const say = (message: string) => {
      said.push(message);
      resolve();
    };
    logger = { info: () => undefined, warn: say, error: say };
  });
  await using index = await WebIndex.open("memory:", { logger });
  const nothing = new Uint8Array(0);
  await index.db.transact((tx) => tx.set(documents.contents, "https://example.org/", nothing));
  await warned;
  expect(said[0]).toBe('A run of the observer "extract" failed');
});

it("refuses an index of the former layout, by links by target and postings by bucket, and says what to do", async () => {
  await using scratch = await Scratch.make();
  const links = table("links", { sources: family(text()) });
  const postings = table("postings", { documents: family(bytes()) });
  const target = "https://example.org/";
  {
    await using db = await open(scratch.path, { tables: [links, postings] });
    await db.transact((tx) => {
      tx.set(links.sources.at("s"), target, "anchor");
      tx.set(postings.documents.at("00"), "1ff", new Uint8Array(1));
    });
  }
  const opening = WebIndex.open(scratch.path);
  await expect(opening).rejects.toThrow(SchemaError);
  await expect(opening).rejects.toThrow("load its sources again into another location");
  // A worker of the command line opens the index by its tables alone.
  await expect(open(scratch.path, { tables, observers })).rejects.toThrow(
    /^Table links contradicts its record/,
  );
  await using db = await open(scratch.path, { tables: [links, postings] });
  await using view = await db.snapshot();
  expect(await view.get(links.sources.at("s"), target)).toBe("anchor");
});

it("leaves what is due to other processes if it does not work", async () => {
  await using scratch = await Scratch.make();
  await using reader = await WebIndex.open(scratch.path, { works: false });
  await reader.db.transact((tx) =>
    tx.set(
      documents.contents,
      "https://example.org/",
      packContents({ contentType: "text/html", body: Buffer.from("otter") }),
    ),
  );
  await reader.settle();
  expect(await reader.waiting(10)).toBe(1);
  await using worker = await WebIndex.open(scratch.path);
  await worker.settle();
  expect(await reader.waiting(10)).toBe(0);
  expect(await reader.count()).toEqual({ live: 1, findable: 1 });
});

it("keeps an index in PostgreSQL equal to the twin's", async () => {
  const place = await newPlace();
  try {
    await using index = await WebIndex.open(place.location);
    const [a, b] = ["https://example.org/a", "https://example.org/b"];
    await crawl(index, { [a]: page("A", "otter", { [b]: "badger" }), [b]: page("B", "walrus") });
    await crawl(index, { [a]: page("A", "marmot", { [b]: "weasel" }), [b]: undefined });
    expect(await index.count()).toEqual({ live: 1, findable: 1 });
  } finally {
    await removePlace(place);
  }
});
