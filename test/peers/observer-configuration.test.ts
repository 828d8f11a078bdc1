import { family, int, ObserverError, observer, SchemaError, signal, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { Cluster, collected, dies, type Member, outcomeOf, variants } from "./cluster.js";

/**
 * Processes that do not agree on the observers. A definition that contradicts the database is
 * refused before anything changes. A process with an older version, or without the observer, loses
 * no change.
 */

const pages = table("pages", {
  url: text(),
  other: text(),
  links: family(text()),
  poke: signal(),
  size: int(),
  note: text(),
});

const size = observer("size", pages.url, (tx, { row, value }) => {
  tx.set(pages.size, row, value?.length ?? 0);
});

/** A later version of the same observer. */
const newerSize = observer(
  "size",
  pages.url,
  (tx, { row, value }) => tx.set(pages.size, row, 1_000 + (value?.length ?? 0)),
  { version: 2 },
);

async function sizes({ db }: Member, ...rows: string[]): Promise<(number | undefined)[]> {
  await using snapshot = await db.snapshot();
  return await snapshot.getMany(pages.size, rows);
}

async function write({ db }: Member, row: string, url: string): Promise<void> {
  await db.transact((tx) => tx.set(pages.url, row, url));
}

async function due({ db }: Member): Promise<[string, unknown][]> {
  return (await collected(db.pending())).map(({ observer: name, row }) => [name, row]);
}

describe.each(variants)("$store, commit $commit", (variant) => {
  test.each([
    { name: "another column", observer: observer("size", pages.other, () => {}) },
    { name: "a family", observer: observer("size", pages.links, () => {}) },
    { name: "a signal", observer: observer("size", pages.poke, () => {}) },
    {
      name: "a column of another table",
      observer: observer("size", table("sites", { url: text() }).url, () => {}),
    },
  ])(
    "opening with another definition of a registered observer ($name) is refused, and nothing changes",
    async (mismatch) => {
      await using cluster = await Cluster.start(variant);
      const first = await cluster.join({ observers: [size] });
      const before = [await first.db.observers(), [...(await first.db.tables()).keys()]];
      const joining = cluster.join({ observers: [mismatch.observer] });
      await expect(joining).rejects.toBeInstanceOf(ObserverError);
      await expect(joining).rejects.toThrow(/"size" is registered for the column pages\.url/);
      expect([await first.db.observers(), [...(await first.db.tables()).keys()]]).toEqual(before);
      await write(first, "a", "abc");
      await first.db.drain();
      expect(await sizes(first, "a")).toEqual([3]);
    },
  );

  test("two observers of one name, and a column of another type, are refused", async () => {
    await using cluster = await Cluster.start(variant);
    const first = await cluster.join({ observers: [size] });
    await expect(cluster.join({ observers: [size, newerSize] })).rejects.toBeInstanceOf(ObserverError);
    const changed = table("pages", { url: int() });
    await expect(
      cluster.join({ observers: [observer("other", changed.url, () => {})] }),
    ).rejects.toBeInstanceOf(SchemaError);
    expect([...(await first.db.observers()).keys()]).toEqual(["size"]);
  });

  test("an older version than the registered one is refused, and the newer one continues", async () => {
    await using cluster = await Cluster.start(variant);
    const newer = await cluster.join({ observers: [newerSize] });
    await expect(cluster.join({ observers: [size] })).rejects.toThrow(/has the older version 1/);
    await write(newer, "a", "abc");
    await newer.db.drain();
    expect(await sizes(newer, "a")).toEqual([1_003]);
  });

  test("a worker with an older version leaves changes to the newer one, and reports it once", async () => {
    await using cluster = await Cluster.start(variant);
    const older = await cluster.join({ observers: [size] });
    const worker = older.db.work();
    await write(older, "a", "abc");
    await worker.idle();
    expect(await sizes(older, "a")).toEqual([3]);
    const said: string[] = [];
    older.db.on("backgroundFailure", ({ error }) => said.push(String(error)));
    const newer = await cluster.join({ observers: [newerSize] });
    await write(older, "b", "abcd");
    await cluster.clock.advance(5_000);
    expect(said.filter((text) => text.includes("is now registered in version 2")).length).toBe(1);
    expect(await sizes(older, "a", "b")).toEqual([3, undefined]);
    expect(await due(older)).toEqual([["size", "b"]]);
    await newer.db.drain();
    expect(await sizes(newer, "a", "b")).toEqual([3, 1_004]);
    // The backfill makes the older change due again, for the newer version.
    await newer.db.backfill(newerSize);
    await newer.db.drain();
    expect(await sizes(newer, "a", "b")).toEqual([1_003, 1_004]);
    await worker.stop();
    await cluster.expectClean(newer.db);
  });

  test("a writer that hosts no observer, or other ones, leaves the hints that the registry asks for", async () => {
    await using cluster = await Cluster.start(variant);
    const host = await cluster.join({ observers: [size] });
    const links = observer("links", pages.links, (tx, { row, qualifier, value }) => {
      tx.set(pages.note, row, `${qualifier}: ${value}`);
    });
    const plain = await cluster.join();
    const others = await cluster.join({ observers: [links] });
    await write(plain, "a", "abc");
    await write(others, "b", "abcd");
    await plain.db.transact((tx) => tx.set(pages.links.at("home"), "a", "x"));
    expect((await due(plain)).sort()).toEqual([
      ["links", "a"],
      ["size", "a"],
      ["size", "b"],
    ]);
    expect(await outcomeOf(plain.db.drain())).toBe("OBSERVER");
    await expect(host.db.drain()).rejects.toThrow(/"links" \(1\)/);
    expect(await sizes(plain, "a", "b")).toEqual([3, 4]);
    await others.db.drain();
    await using snapshot = await plain.db.snapshot();
    expect(await snapshot.get(pages.note, "a")).toBe("home: x");
    await plain.db.drain();
    await cluster.expectClean(plain.db);
  });

  test("a change passes through a chain of observers of different kinds in different processes", async () => {
    await using cluster = await Cluster.start(variant);
    const move = observer("move", pages.url, async (tx, { row, value }) => {
      if (value === undefined) return;
      tx.delete(pages.url, row);
      tx.set(pages.other, row, value);
    });
    const poke = observer("poke", pages.other, (tx, { row, value }) => {
      if (value === undefined) return;
      tx.notify(pages.poke, row);
    });
    const finish = observer("finish", pages.poke, async (tx, { row }) => {
      const value = await tx.get(pages.other, row);
      if (value === undefined) return;
      tx.delete(pages.other, row);
      tx.set(pages.note, row, value);
    });
    const members = [
      await cluster.join({ observers: [move] }),
      await cluster.join({ observers: [poke] }),
      await cluster.join({ observers: [finish] }),
    ];
    const loader = await cluster.join();
    const workers = members.map(({ db }) => db.work());
    await write(loader, "a", "abcdefg");
    await members[0]!.db.drain();
    await using snapshot = await loader.db.snapshot();
    expect(await snapshot.row(pages, "a")).toEqual({ links: new Map(), note: "abcdefg" });
    for (const worker of workers) await worker.stop();
    await cluster.expectClean(loader.db);
  });

  test("an unregistered observer no longer runs in any process, and leaves no hint", async () => {
    await using cluster = await Cluster.start(variant);
    const host = await cluster.join({ observers: [size] });
    const other = await cluster.join();
    const worker = host.db.work();
    await write(other, "a", "abc");
    await worker.idle();
    await other.db.unregister("size");
    await cluster.clock.advance(5_000);
    await write(other, "a", "abcd");
    await write(host, "b", "ab");
    await cluster.clock.advance(5_000);
    expect(await sizes(other, "a", "b")).toEqual([3, undefined]);
    expect(await due(other)).toEqual([]);
    expect((await other.db.observers()).size).toBe(0);
    await worker.stop();
    // An observer that was registered again starts with new changes. Earlier changes belonged to
    // the previous registration.
    const again = await cluster.join({ observers: [size] });
    await write(other, "b", "abc");
    await again.db.drain();
    expect(await sizes(other, "a", "b")).toEqual([3, 3]);
    await cluster.expectClean(again.db);
  });

  test("a worker can be started only for observers that its process hosts", async () => {
    await using cluster = await Cluster.start(variant);
    const { db } = await cluster.join({ observers: [size] });
    expect(() => db.work({ observers: ["nobody"] })).toThrow(ObserverError);
    expect(() => db.work({ observers: [newerSize, "links"] })).toThrow(ObserverError);
    await expect(db.backfill("nobody")).rejects.toBeInstanceOf(ObserverError);
  });

  test("a signal without an observer leaves nothing in the store", async () => {
    await using cluster = await Cluster.start(variant);
    const { db } = await cluster.join({ observers: [size] });
    await db.transact((tx) => tx.notify(pages.poke, "a"));
    expect(await collected(db.pending())).toEqual([]);
    await db.drain();
    await cluster.expectClean(db);
  });

  test("a process dies while it records a table in the catalog: the next process records it", async () => {
    await using cluster = await Cluster.start(variant);
    const first = await cluster.join({ tables: [pages] });
    const killed = await cluster.join();
    const step = ["one-row memory", "bigtable"].includes(variant.store)
      ? "commit-primary"
      : "one-phase-commit";
    killed.hooks.once(step, dies(killed));
    const sites = table("sites", { url: text() });
    // The table is recorded at its first use.
    void killed.db.transact((tx) => tx.set(sites.url, "a", "x"));
    while (!killed.environment.isDead) await cluster.clock.settle();
    const watching = observer("sites", sites.url, (tx, { row, value }) =>
      tx.set(pages.note, row, value ?? ""),
    );
    const host = await cluster.join({ observers: [watching] });
    await first.db.transact((tx) => tx.set(sites.url, "a", "y"));
    await host.db.drain();
    await using snapshot = await first.db.snapshot();
    expect(await snapshot.get(pages.note, "a")).toBe("y");
    await cluster.expectClean(host.db);
  });
});
