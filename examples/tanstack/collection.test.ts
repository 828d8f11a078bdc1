import { createCollection } from "@tanstack/db";
import { type AnyTable, family, feed, int, open, table, text, tuple } from "percolatordb";
import { type FeedResponseOptions, feedResponse } from "percolatordb/live";
import { describe, expect, expectTypeOf, test } from "vitest";
import { until } from "../../test/support/waiting.js";
import { type PercolatorCollectionOptions, percolatorCollection } from "./collection.js";
import { itemsOf } from "./test-shop.js";

const stock = table("stock", { count: int(), tags: family(text()) }, { key: tuple(text(), int()) });
const notes = table("notes", { row: text(), text: text() });
const stockFeed = feed("stock-feed", [stock.count, stock.tags, notes.row, notes.text]);

/** Opens a database, and makes collections that follow its feed without a network. */
async function openStock(response: FeedResponseOptions = { snapshot: true }) {
  const db = await open("memory:", { feeds: [stockFeed] });
  const collectionOf = <T extends AnyTable>(options: Omit<PercolatorCollectionOptions<T>, "url">) =>
    createCollection(
      percolatorCollection<T>({
        url: "http://localhost/",
        fetch: async (url, init) => await feedResponse(db, stockFeed, new Request(url, init), response),
        ...options,
      } as PercolatorCollectionOptions<T>),
    );
  return { db, collectionOf, [Symbol.asyncDispose]: () => db.close() };
}

const getKey = ({ row: [shelf, place] }: { readonly row: readonly [string, number] }) => `${shelf}/${place}`;

describe("a collection over a feed of several tables", () => {
  test("has the rows of its own, by composite keys, with families as maps", async () => {
    await using opened = await openStock();
    const { db } = opened;
    await db.transact((tx) => {
      tx.set(stock.count, ["a", 1], 5);
      tx.set(stock.tags.at("color"), ["a", 1], "red");
      tx.set(notes.text, "n1", "hello");
    });
    const items = opened.collectionOf<typeof stock>({ table: "stock", getKey });
    await items.preload();
    expect(itemsOf(items)).toEqual([{ row: ["a", 1], count: 5, tags: new Map([["color", "red"]]) }]);
    const item = items.get("a/1")!;
    expectTypeOf(item.tags).toEqualTypeOf<ReadonlyMap<string, string> | undefined>();
    expectTypeOf(item.row).toEqualTypeOf<readonly [string, number]>();

    const commits: unknown[] = [];
    items.subscribeChanges(
      (changes) => void commits.push(...itemsOf({ toArray: changes.map((c) => c.value) })),
      {
        includeInitialState: true,
      },
    );
    commits.length = 0;
    await db.transact((tx) => tx.set(notes.text, "n1", "other"));
    await db.transact((tx) => tx.set(stock.tags.at("size"), ["a", 1], "s"));
    await db.transact((tx) => tx.delete(stock.tags.at("color"), ["a", 1]));
    const last = await db.transact((tx) => {
      tx.delete(stock.tags.at("size"), ["a", 1]);
      return tx;
    });
    await items.utils.received(last.commitTimestamp!);
    const row = ["a", 1];
    expect(commits).toEqual([
      {
        row,
        count: 5,
        tags: new Map([
          ["color", "red"],
          ["size", "s"],
        ]),
      },
      { row, count: 5, tags: new Map([["size", "s"]]) },
      { row, count: 5 },
    ]);
    await items.cleanup();
  });

  test("has received a transaction of another table too", async () => {
    await using opened = await openStock();
    const items = opened.collectionOf<typeof notes>({ table: "notes" });
    await items.preload();
    const tx = await opened.db.transact((tx) => {
      tx.set(stock.count, ["a", 1], 5);
      return tx;
    });
    await items.utils.received(tx.commitTimestamp!);
    expect(items.size).toBe(0);
    await items.cleanup();
  });

  test("leaves out a column that is named like the key", async () => {
    await using opened = await openStock();
    await opened.db.transact((tx) => {
      tx.set(notes.row, "n1", "a value");
      tx.set(notes.text, "n1", "hello");
    });
    const items = opened.collectionOf<typeof notes>({ table: "notes" });
    await items.preload();
    expect(itemsOf(items)).toEqual([{ row: "n1", text: "hello" }]);
    await items.cleanup();
  });

  test("needs a key that is a string", async () => {
    // @ts-expect-error: `getKey` is missing.
    const options: PercolatorCollectionOptions<typeof stock> = { url: "/", table: "stock" };
    const { getKey: defaultKey } = percolatorCollection(options);
    expect(() => defaultKey({ row: ["a", 1] })).toThrow('The row key ["a",1] is not a string.');
  });

  test("is read-only without an address for mutations", async () => {
    await using opened = await openStock();
    const items = opened.collectionOf<typeof notes>({ table: "notes" });
    await items.preload();
    expect(() => items.insert({ row: "n1", text: "hello" })).toThrow("onInsert");
    await items.cleanup();
  });
});

describe("a collection fails, and says why,", () => {
  test("if the server refuses the feed for good", async () => {
    await using opened = await openStock({ snapshot: true, authorize: () => false });
    const codes: string[] = [];
    const items = opened.collectionOf<typeof notes>({
      table: "notes",
      onError: ({ code }) => codes.push(code),
    });
    await expect(items.preload()).rejects.toMatchObject({ name: "LiveError", status: 403 });
    expect([items.status, codes.length]).toEqual(["error", 1]);
    await items.cleanup();
  });

  test("if the feed has no snapshot", async () => {
    await using opened = await openStock({});
    const items = opened.collectionOf<typeof notes>({ table: "notes" });
    await expect(items.preload()).rejects.toThrow(
      "http://localhost/ sends no snapshot. Serve it by `feedResponse` with `snapshot: true`.",
    );
    await items.cleanup();
  });

  test("if the table has too many rows, at first or later", async () => {
    await using opened = await openStock();
    const { db } = opened;
    await db.transact((tx) => tx.set(notes.text, "n1", "hello"));
    await db.transact((tx) => tx.set(notes.text, "n2", "hello"));
    const small = opened.collectionOf<typeof notes>({ table: "notes", maxRows: 1 });
    await expect(small.preload()).rejects.toThrow("The table notes has more than 1 rows");
    expect(small.size).toBe(0);
    const enough = opened.collectionOf<typeof notes>({ table: "notes", maxRows: 2 });
    await enough.preload();
    const last = await db.transact((tx) => {
      tx.set(notes.text, "n3", "hello");
      return tx;
    });
    expect(await until(() => enough.status === "error")).toBe(true);
    // Nothing more is received, so nobody waits for it.
    await enough.utils.received(last.commitTimestamp! + 1);
    await Promise.all([small.cleanup(), enough.cleanup()]);
  });
});

test("a subscriber that throws does not make the collection miss a change", async () => {
  await using opened = await openStock();
  const { db } = opened;
  const codes: string[] = [];
  const items = opened.collectionOf<typeof notes>({
    table: "notes",
    onError: ({ code }) => codes.push(code),
    environment: { random: () => 0, setTimer },
  });
  await items.preload();
  let calls = 0;
  items.subscribeChanges(() => {
    if (++calls === 1) throw new Error("a defect of the program");
  });
  await db.transact((tx) => tx.set(notes.text, "n1", "first"));
  const tx = await db.transact((tx) => {
    tx.set(notes.text, "n1", "second");
    tx.set(notes.text, "n2", "other");
    return tx;
  });
  await items.utils.received(tx.commitTimestamp!);
  expect(itemsOf(items)).toEqual([
    { row: "n1", text: "second" },
    { row: "n2", text: "other" },
  ]);
  expect(codes).toEqual(["HANDLER"]);
  await items.cleanup();
});

test("a snapshot that breaks off begins again, and its parts are put together", async () => {
  const cell = (row: string, column: string, value: string) => ({ table: "notes", row, column, value });
  const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const answers = [
    [event("reset", { timestamp: 1 }), event("cells", [cell("n1", "text", "deleted by then")])],
    [
      event("reset", { timestamp: 2 }),
      event("cells", [cell("n2", "text", "hello")]),
      event("cells", [cell("n2", "language", "en"), cell("n3", "text", "hi")]),
      `id: 2\n${event("ready", { timestamp: 2 })}`,
    ],
  ];
  const items = createCollection(
    percolatorCollection<typeof notes>({
      url: "http://localhost/",
      table: "notes",
      fetch: async (_, init) => {
        const answer = answers.shift()?.join("");
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(answer));
            if (answers.length > 0) controller.close();
            else init?.signal?.addEventListener("abort", () => controller.error(new Error("aborted")));
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
      environment: { random: () => 0, setTimer },
    }),
  );
  await items.preload();
  expect(itemsOf(items)).toEqual([
    { row: "n2", text: "hello", language: "en" },
    { row: "n3", text: "hi" },
  ]);
  await items.cleanup();
});

function setTimer(run: () => void, delayMs: number) {
  const timer = setTimeout(run, delayMs);
  return { cancel: () => clearTimeout(timer) };
}
