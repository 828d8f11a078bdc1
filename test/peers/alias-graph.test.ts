import {
  type Database,
  family,
  type Isolation,
  type Snapshot,
  type Transaction,
  table,
  text,
  tuple,
} from "percolatordb";
import { describe, expect, test } from "vitest";
import {
  Cluster,
  collected,
  dies,
  diesAfter,
  lockTtlMs,
  outcomeOf,
  twoPhase,
  type Variant,
  variants,
} from "./cluster.js";

/**
 * A graph of nodes with aliases. Raw edges name nodes, and derived edges name their aliases. A
 * transaction that adds an edge only reads the aliases that it uses. If one of them changes, the
 * derived edge must follow.
 */

const nodes = table("nodes", { alias: text() });
const rawEdges = table("edges", { aliases: text() }, { key: tuple(text(), text()) });
const derived = table("derived", { edges: family(text()) }, { key: tuple(text(), text()) });

/** Writes both directions of an edge, under the current aliases of its nodes. */
function putEdge(tx: Transaction, [one, two]: [string, string], [alias1, alias2]: [string, string]): void {
  tx.set(derived.edges.at(`${one}:${two}`), [alias1, alias2], "");
  tx.set(derived.edges.at(`${two}:${one}`), [alias2, alias1], "");
  tx.set(rawEdges.aliases, [one, two], `${alias1}:${alias2}`);
  tx.set(rawEdges.aliases, [two, one], `${alias2}:${alias1}`);
}

async function addEdge(tx: Transaction, one: string, two: string): Promise<void> {
  const [alias1, alias2] = await tx.getMany(nodes.alias, [one, two]);
  putEdge(tx, [one, two], [alias1!, alias2!]);
}

async function setAlias(tx: Transaction, node: string, alias: string): Promise<void> {
  tx.set(nodes.alias, node, alias);
  for await (const { row, value } of tx.scan(rawEdges.aliases, { prefix: [node] })) {
    const [, other] = row;
    const [before, theirs] = value.split(":") as [string, string];
    if (before === alias) continue;
    tx.delete(derived.edges.at(`${node}:${other}`), [before, theirs]);
    tx.delete(derived.edges.at(`${other}:${node}`), [theirs, before]);
    putEdge(tx, [node, other], [alias, theirs]);
  }
}

async function derivedEdges(db: Database): Promise<string[]> {
  await using snapshot = await db.snapshot();
  return (await collected(snapshot.scan(derived))).map(({ row }) => row.join(":")).sort();
}

async function begin(db: Database, isolation: Isolation = "serializable"): Promise<Transaction> {
  return db.begin({ isolation });
}

async function start(variant: Variant, aliases: Record<string, string>) {
  const cluster = await Cluster.start(variant);
  const one = await cluster.join({ tables: [nodes, rawEdges, derived] });
  const two = await cluster.join();
  await one.db.transact(async (tx) => {
    for (const [node, alias] of Object.entries(aliases)) await setAlias(tx, node, alias);
  });
  return { cluster, one, two };
}

const serializable = { isolation: "serializable" } as const;

describe.each(variants)("$store, commit $commit", (variant) => {
  test("two transactions that only read a node's alias both commit; one that changes it after them does not", async () => {
    const { cluster, one, two } = await start(variant, { n1: "bob", n2: "joe", n3: "alice" });
    await using _ = cluster;
    const changing = await begin(one.db);
    await setAlias(changing, "n2", "jojo");
    const adding = [await begin(two.db), await begin(one.db)];
    await addEdge(adding[0]!, "n1", "n2");
    await addEdge(adding[1]!, "n1", "n3");
    for (const tx of adding) await tx.commit();
    const edges = ["alice:bob", "bob:alice", "bob:joe", "joe:bob"];
    expect(await derivedEdges(one.db)).toEqual(edges);
    expect(await outcomeOf(changing.commit())).toBe("CONFLICT");
    expect(await derivedEdges(two.db)).toEqual(edges);
    await cluster.expectClean(two.db);
  });

  test("an edge under an alias that changed meanwhile does not commit, and leaves nothing that blocks others", async () => {
    const { cluster, one, two } = await start(variant, { n1: "bob", n2: "joe" });
    await using _ = cluster;
    const changing = await begin(one.db);
    await setAlias(changing, "n2", "jojo");
    const adding = await begin(two.db);
    await addEdge(adding, "n1", "n2");
    await changing.commit();
    expect(await outcomeOf(adding.commit())).toBe("CONFLICT");
    expect(await derivedEdges(one.db)).toEqual([]);
    await one.db.transact((tx) => setAlias(tx, "n1", "fred"), serializable);
    await two.db.transact((tx) => addEdge(tx, "n1", "n2"), serializable);
    expect(await derivedEdges(one.db)).toEqual(["fred:jojo", "jojo:fred"]);
    await cluster.expectClean(two.db);
  });

  test("under snapshot isolation the same edge commits, under an alias that no node has", async () => {
    const { cluster, one, two } = await start(variant, { n1: "bob", n2: "joe" });
    await using _ = cluster;
    const changing = await begin(one.db, "snapshot");
    await setAlias(changing, "n2", "jojo");
    const adding = await begin(two.db, "snapshot");
    await addEdge(adding, "n1", "n2");
    await changing.commit();
    await adding.commit();
    expect(await derivedEdges(one.db)).toEqual(["bob:joe", "joe:bob"]);
  });

  test("edges follow their nodes' aliases if the changes come one after the other", async () => {
    const { cluster, one, two } = await start(variant, { n1: "bob", n2: "joe", n3: "alice" });
    await using _ = cluster;
    await one.db.transact((tx) => addEdge(tx, "n1", "n2"), serializable);
    await two.db.transact((tx) => setAlias(tx, "n1", "bobby"), serializable);
    await one.db.transact((tx) => addEdge(tx, "n1", "n3"), serializable);
    expect(await derivedEdges(two.db)).toEqual(["alice:bobby", "bobby:alice", "bobby:joe", "joe:bobby"]);
  });

  test("a hundred edges and a dozen alias changes at once give the result of a serial order", async () => {
    const size = 20;
    const names = Array.from({ length: size }, (_, index) => `n${index + 10}`);
    const { cluster, one, two } = await start(
      variant,
      Object.fromEntries(names.map((name) => [name, `alias of ${name}`])),
    );
    await using _ = cluster;
    const pairs = new Map<string, [string, string]>();
    for (let index = 0; pairs.size < 100; index++) {
      const [from, to] = [
        names[(index * 7) % size]!,
        names[(index * 11 + Math.floor(index / size) + 1) % size]!,
      ];
      if (from !== to) pairs.set([from, to].sort().join(), [from, to]);
    }
    const changes = new Map(names.slice(0, 12).map((name) => [name, `new name of ${name}`]));
    const work: (() => Promise<void>)[] = [];
    const members = [one, two];
    for (const [from, to] of pairs.values()) {
      const { db } = members[work.length % 2]!;
      work.push(() => db.transact((tx) => addEdge(tx, from, to), { ...serializable, retries: 1_000 }));
    }
    let place = 0;
    for (const [node, alias] of changes) {
      const { db } = members[place % 2]!;
      const change = () =>
        db.transact((tx) => setAlias(tx, node, alias), { ...serializable, retries: 1_000 });
      place += 8;
      work.splice(place, 0, change);
    }
    const runners = Array.from({ length: 8 }, async () => {
      for (let next = work.shift(); next !== undefined; next = work.shift()) await next();
    });
    await Promise.all(runners);
    const aliasOf = (node: string) => changes.get(node) ?? `alias of ${node}`;
    const expected = [...pairs.values()].flatMap(([from, to]) => [
      `${aliasOf(from)}:${aliasOf(to)}`,
      `${aliasOf(to)}:${aliasOf(from)}`,
    ]);
    expect(await derivedEdges(one.db)).toEqual(expected.sort());
    expect(one.db.metrics.conflicts + two.db.metrics.conflicts).toBeGreaterThan(0);
    await cluster.expectClean(two.db);
  });

  const reads: Record<string, (tx: Snapshot | Transaction) => Promise<unknown>> = {
    get: (tx) => tx.get(nodes.alias, "n1"),
    getMany: (tx) => tx.getMany(nodes.alias, ["n2", "n1"]),
    row: (tx) => tx.row(nodes, "n1"),
    "a scan of the column": (tx) => collected(tx.scan(nodes.alias)),
    "a scan of the table": (tx) => collected(tx.scan(nodes, { prefix: "n" })),
    "a scan backwards": (tx) => collected(tx.scan(nodes.alias, { reverse: true })),
  };

  test.each(Object.keys(reads))(
    "a cell read by %s counts for conflicts, and an unread cell does not",
    async (how) => {
      const { cluster, one, two } = await start(variant, { n1: "bob", n2: "joe", z: "zoe" });
      await using _ = cluster;
      for (const [changed, outcome] of [
        ["n1", "CONFLICT"],
        ["elsewhere", "committed"],
      ] as const) {
        const tx = await begin(one.db);
        await reads[how]!(tx);
        if (changed === "n1") await two.db.transact((writer) => writer.set(nodes.alias, "n1", "bobby"));
        else await two.db.transact((writer) => writer.set(rawEdges.aliases, ["n1", "n2"], "x:y"));
        tx.set(derived.edges.at("e"), ["a", "b"], "");
        expect(await outcomeOf(tx.commit())).toBe(outcome);
      }
      await cluster.expectClean(one.db);
    },
  );

  test("a read-only transaction always commits, and blocks no other", async () => {
    const { cluster, one, two } = await start(variant, { n1: "bob", n2: "joe" });
    await using _ = cluster;
    const writing = await begin(two.db);
    const reading = await begin(one.db);
    expect(await reading.getMany(nodes.alias, ["n1", "n2"])).toEqual(["bob", "joe"]);
    await reading.commit();
    writing.set(nodes.alias, "n1", "x");
    writing.set(nodes.alias, "n2", "y");
    await writing.commit();
    await cluster.expectClean(one.db);
  });

  test("one transaction may read and write the same cell, and reads what it wrote", async () => {
    const { cluster, one } = await start(variant, { n1: "bob", n2: "joe" });
    await using _ = cluster;
    await one.db.transact(async (tx) => {
      await setAlias(tx, "n1", "bobby");
      await addEdge(tx, "n1", "n2");
    }, serializable);
    expect(await derivedEdges(one.db)).toEqual(["bobby:joe", "joe:bobby"]);
    await cluster.expectClean(one.db);
  });
});

describe.each(twoPhase)("$store, commit $commit: a process that adds an edge dies", (variant) => {
  test.each([
    { name: "before its commit point", how: dies, committed: false, waitMs: 0 },
    { name: "before its commit point, long ago", how: dies, committed: false, waitMs: 2 * lockTtlMs },
    { name: "after its commit point", how: diesAfter, committed: true, waitMs: 0 },
    { name: "after its commit point, long ago", how: diesAfter, committed: true, waitMs: 2 * lockTtlMs },
  ])("$name: if aliases change afterwards, the edges follow", async ({ how, committed, waitMs }) => {
    const { cluster, one, two } = await start(variant, { n1: "bob", n2: "joe", n3: "alice" });
    await using _ = cluster;
    await one.db.transact((tx) => addEdge(tx, "n1", "n2"), serializable);
    two.hooks.once("commit-primary", how(two));
    void two.db.transact((tx) => addEdge(tx, "n1", "n3"), serializable);
    while (!two.environment.isDead) await cluster.clock.settle();
    await cluster.clock.advance(waitMs);
    const third = committed ? ["alice:bobby", "bobby:alice"] : [];
    await one.db.transact((tx) => setAlias(tx, "n1", "bobby"), serializable);
    expect(await derivedEdges(one.db)).toEqual([...third, "bobby:joe", "joe:bobby"].sort());
    await one.db.transact((tx) => setAlias(tx, "n3", "alex"), serializable);
    const renamed = committed ? ["alex:bobby", "bobby:alex"] : [];
    expect(await derivedEdges(one.db)).toEqual([...renamed, "bobby:joe", "joe:bobby"].sort());
    await cluster.clock.advance(2 * lockTtlMs);
    await derivedEdges(one.db);
    await one.db.transact((tx) => addEdge(tx, "n1", "n3"), serializable);
    expect(await derivedEdges(one.db)).toEqual(["alex:bobby", "bobby:alex", "bobby:joe", "joe:bobby"]);
    await cluster.expectClean(one.db);
  });
});
