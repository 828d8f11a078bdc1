import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "percolatordb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nextTurn } from "../harness/compare.js";
import { loadRaw, RawDatabase } from "../harness/raw.js";
import { countWrongMembers, measureBare } from "./bare.js";
import { Repository } from "./repository.js";
import { batchClusters, documents } from "./tables.js";
import { countDifferent, countWrongOfBare, countWrongOfBatch } from "./verify.js";

const all = [
  ["a", "k1 k2"],
  ["b", "k2 k3"],
] as const;
const expected = [
  ["k1", "a"],
  ["k2", "a b"],
  ["k3", "b"],
] as const;

test("rows that are missing, different or superfluous are counted, each once", () => {
  const map = new Map<string, string>(expected);
  expect(countDifferent(expected, map)).toBe(0);
  expect(countDifferent([], map)).toBe(3);
  expect(countDifferent([...expected, ["k4", "a"]], map)).toBe(1);
  expect(
    countDifferent(
      [
        ["k1", "a b"],
        ["k2", "a b"],
      ],
      map,
    ),
  ).toBe(2);
});

describe("the batch in the same database", () => {
  test.each([
    ["nothing if all is well", undefined, 0],
    ["a cluster with a member that it must not have", "a b", 1],
    ["a cluster that is missing", null, 1],
  ])("%s", async (_, members, wrong) => {
    await using db = await open("memory:", { tables: [documents, batchClusters] });
    await db.transact((tx) => {
      for (const [url, keys] of all) tx.set(documents.keys, url, keys);
      for (const [key, urls] of expected) tx.set(batchClusters.members, key, urls);
    });
    if (members !== undefined) {
      await db.transact((tx) => {
        if (members === null) tx.delete(batchClusters.members, "k3");
        else tx.set(batchClusters.members, "k3", members);
      });
    }
    expect(await countWrongOfBatch(db)).toBe(wrong);
  });
});

describe("with LMDB alone", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "percolatordb-clustering-test-"));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const put = loadRaw;

  test("a cluster of the batch that does not match the documents is found", async () => {
    const [source, result] = ["documents", "batch"].map((name) => new RawDatabase(join(folder, name))) as [
      RawDatabase,
      RawDatabase,
    ];
    put(source, "documents", all);
    put(result, "clusters", expected);
    await nextTurn();
    expect(countWrongOfBare(source, result)).toBe(0);
    put(result, "clusters", [["k2", "a"]]);
    await nextTurn();
    expect(countWrongOfBare(source, result)).toBe(1);
    await source.close();
    await result.close();
  });

  test("a member that was not added, or not removed, is found", async () => {
    const raw = new RawDatabase(folder);
    put(raw, "documents", all);
    const members = ["k1\0a", "k2\0a", "k2\0b", "k3\0b"].map((key) => [key, "\u0001"] as const);
    put(raw, "clusters", [...members, ["k3\0a", "\0"]]);
    await nextTurn();
    expect(countWrongMembers(raw, all)).toBe(0);
    put(raw, "clusters", [["k3\0a", "\u0001"]]);
    await nextTurn();
    expect(countWrongMembers(raw, all)).toBe(1);
    put(raw, "clusters", [["k1\0a", "\0"]]);
    await nextTurn();
    expect(countWrongMembers(raw, all)).toBe(2);
    put(raw, "documents", [["b", "k2"]]);
    await nextTurn();
    expect(countWrongMembers(raw, all)).toBe(3);
    await raw.close();
  });

  test("the measured code gives correct results", async () => {
    expect(await measureBare(new Repository(50), folder)).toBeGreaterThan(0);
  });
});
