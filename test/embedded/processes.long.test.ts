import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "percolatordb/lmdb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RangePage, RowStore } from "../../src/store/index.js";
import { startChild } from "./processes.js";

let base: string;
let number = 0;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "percolatordb-processes-"));
});

afterAll(async () => {
  await rm(base, { recursive: true, force: true });
});

const newPath = () => join(base, `store-${++number}`);
const columns = [{ exact: Buffer.from("c") }];
const forever = Number.POSITIVE_INFINITY;

/** Returns each row's newest value and its timestamp. */
async function rows(
  store: RowStore,
  table: string,
): Promise<Map<string, { value: string; timestamp: number }>> {
  const all = new Map<string, { value: string; timestamp: number }>();
  let start: RangePage["next"];
  do {
    const page: RangePage = await store.readRange({ table, columns, at: forever, start });
    for (const { row, cells } of page.rows) {
      const { value, timestamp } = cells[0]!.write!;
      all.set(Buffer.from(row).toString(), { value: Buffer.from(value).toString(), timestamp });
    }
    start = page.next;
  } while (start !== undefined);
  return all;
}

describe("several processes on one folder", () => {
  it("take every slot once and every timestamp once", async () => {
    const path = newPath();
    const count = 300;
    const children = ["a", "b", "c"].map((name) => startChild(["slots", path, name, `${count}`]));
    expect(await Promise.all(children.map((child) => child.ended))).toEqual([0, 0, 0]);
    const lines = children.flatMap((child) => child.lines.map((line) => line.split(" ")));
    const slots = lines.filter(([kind]) => kind === "slot");
    expect(new Set(slots.map(([, slot]) => slot)).size).toBe(count);
    expect(slots).toHaveLength(count);
    const timestamps = [
      ...slots.map((line) => line[2]),
      ...lines.filter(([kind]) => kind === "next").map((l) => l[1]),
    ];
    expect(timestamps).toHaveLength(count * 4);
    expect(new Set(timestamps).size).toBe(timestamps.length);
    const store = await openLmdbStore(path);
    expect((await rows(store, "slots")).size).toBe(count);
    expect(await store.atomic!.counter()).toBe(Math.max(...timestamps.map(Number)));
    await store.close();
  });

  it("see writes of another process beyond their own map, and continue to write", async () => {
    const path = newPath();
    const store = await openLmdbStore(path, { mapSize: 2 ** 20 });
    expect((await rows(store, "grown")).size).toBe(0);
    const child = startChild(["grow", path, "child", "300"]);
    await child.said("grown");
    const all = [...(await rows(store, "grown")).values()];
    expect(all).toHaveLength(300);
    expect(all.every(({ value }) => value.length >= 1_000_000)).toBe(true);
    const put = { type: "put", column: columns[0]!.exact, part: "write", timestamp: 2 } as const;
    const value = Buffer.alloc(1_000_000, "x");
    const mutation = { table: "grown", row: Buffer.from("own"), guards: [], mutations: [{ ...put, value }] };
    expect(await store.mutate(mutation)).toBe("applied");
    expect((await rows(store, "grown")).get("own")?.value).toBe(value.toString());
    expect(await child.ended).toBe(0);
    await store.close();
  });

  it("lose nothing and tear nothing when one is killed at any moment", async () => {
    const path = newPath();
    const told = new Map<string, number>();
    const timestamps = new Set<string>();
    for (let round = 0; round < 6; round++) {
      const name = `round${round}`;
      const child = startChild(["pairs", path, name]);
      await child.said("open");
      const lines = 50 + 137 * round;
      while (child.lines.length < lines) await new Promise((resolve) => setTimeout(resolve, 1));
      child.process.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      for (const line of child.lines.slice(1)) {
        const [timestamp, i] = line.split(" ");
        expect(timestamps.has(timestamp!)).toBe(false);
        timestamps.add(timestamp!);
        told.set(`${name} ${Number(i) % 500}`, Number(timestamp));
      }
      const store = await openLmdbStore(path);
      const counter = await store.atomic!.counter();
      expect(counter).toBeGreaterThanOrEqual(Math.max(...[...timestamps].map(Number)));
      expect(await store.atomic!.next()).toBeGreaterThan(counter);
      const left = await rows(store, "left");
      expect(await rows(store, "right")).toEqual(left);
      for (const [row, timestamp] of told) expect(left.get(row)?.timestamp).toBeGreaterThanOrEqual(timestamp);
      await store.close();
    }
    expect(told.size).toBeGreaterThan(500);
  });

  it("are not delayed by readers that were killed", async () => {
    const path = newPath();
    const store = await openLmdbStore(path, { maxReaders: 3 });
    for (let i = 0; i < 5; i++) {
      const child = startChild(["stay", path]);
      await child.said("reading");
      child.process.kill("SIGKILL");
      await child.ended;
    }
    expect((await store.statistics()).readers).toBeLessThanOrEqual(3);
    await store.close();
  });
});

describe("a full disk", () => {
  // With SIGXFSZ ignored, a limit on the length of files makes a write fail as a full disk does.
  const limits = "trap '' XFSZ; ulimit -f 20000";

  it("fails writes that do not fit as a whole, and the store continues", async () => {
    if (process.platform === "win32") return;
    const path = newPath();
    const child = startChild(["fill", path], limits);
    expect(await child.ended, child.errors()).toBe(0);
    const failed = child.lines.find((line) => line.startsWith("failed"))!.split(" ");
    expect(failed[1]).toBe("STORE_FULL");
    const written = Number(failed[3]);
    expect(written).toBeGreaterThan(10);
    expect(child.lines).toContain("deleted");
    expect(child.lines).toContain("last applied");
    const store = await openLmdbStore(path);
    const left = await rows(store, "left");
    expect(left.size).toBe(written + 1);
    expect(left.get("last")?.value).toBe("written");
    expect((await rows(store, "right")).size).toBe(0);
    await store.close();
  });
});
