import { type Database, int, type Oracle, open, table, text } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { memoryStore } from "percolatordb/memory";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Emulator, startEmulator } from "../support/emulator/index.js";

let emulator: Emulator;
let databases = 0;

beforeAll(async () => {
  emulator = await startEmulator();
});
afterAll(() => emulator.stop());

const accounts = table("accounts", { balance: int() });
const wide = table("wide", { note: text() });

function counterOracle(): Oracle {
  const counter = memoryStore().atomic!;
  return { next: (options) => counter.next(options), latest: () => counter.counter() };
}

/** Opens two databases on the same tables with one oracle, as in two processes. */
async function openTwo(gather: boolean): Promise<readonly [Database, Database]> {
  const place = `bigtable://project/instance?prefix=bank${++databases}`;
  const oracle = counterOracle();
  const one = async () =>
    await open(await openBigtableStore(place, { emulatorHost: emulator.host, gather }), {
      tables: [accounts, wide],
      oracle,
      collectEveryMs: 0,
      lockTtlMs: 60_000,
    });
  return [await one(), await one()];
}

describe.each([{ gather: true }, { gather: false }])(
  "transactions on Bigtable, batched: $gather",
  ({ gather }) => {
    it("move money between accounts under contention, and every snapshot sees the right sum", async () => {
      const [first, second] = await openTwo(gather);
      const names = ["a", "b", "c", "d", "e", "f"];
      await first.transact((tx) => {
        for (const name of names) tx.set(accounts.balance, name, 100);
      });
      let moved = 0;
      const move = async (db: Database, worker: number) => {
        for (let i = 0; i < 12; i++) {
          const [from, to] = [names[(worker + i) % 6]!, names[(worker * 2 + i * 3 + 1) % 6]!];
          if (from === to) continue;
          await db.transact(async (tx) => {
            const [have, had] = await tx.getMany(accounts.balance, [from, to]);
            tx.set(accounts.balance, from, have! - 1);
            tx.set(accounts.balance, to, had! + 1);
          });
          moved++;
        }
      };
      const look = async (db: Database) => {
        for (let i = 0; i < 15; i++) {
          await using snapshot = await db.snapshot();
          const balances = await snapshot.getMany(accounts.balance, names);
          expect(balances.reduce((sum: number, each) => sum + each!, 0)).toBe(600);
        }
      };
      const workers = Array.from({ length: 6 }, (_, worker) =>
        move(worker % 2 === 0 ? first : second, worker),
      );
      await Promise.all([...workers, look(first), look(second)]);
      expect(moved).toBeGreaterThan(30);
      expect(await first.check()).toEqual([]);
      await first.close();
      await second.close();
    });

    it("write rows with many columns or long columns, which take several mutations each", async () => {
      const [db, other] = await openTwo(gather);
      const tables = table("anchors", { from: (await import("percolatordb")).family(text()) });
      const names = Array.from(
        { length: 60 },
        (_, i) => `${"https://example.org/".repeat(1 + (i % 40))}${i}`,
      );
      await db.transact((tx) => {
        for (const name of names) tx.set(tables.from.at(name), "page", name);
      });
      const shown: string[] = [];
      await using snapshot = await other.snapshot();
      for await (const { value } of snapshot.entries(tables.from, "page")) shown.push(value);
      expect(shown.sort()).toEqual([...names].sort());
      await db.close();
      await other.close();
    });
  },
);

describe("a location", () => {
  it("is enough to open a database on the emulator that the environment names", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", emulator.host);
    try {
      const oracle = counterOracle();
      const place = "bigtable://project/instance?prefix=named";
      await using db = await open(place, {
        tables: [accounts],
        oracle,
        coordinator: false,
        collectEveryMs: 0,
      });
      await db.transact((tx) => tx.set(accounts.balance, "a", 5));
      await using again = await open(new URL(place), { oracle, coordinator: false, collectEveryMs: 0 });
      expect(await again.transact((tx) => tx.get(accounts.balance, "a"))).toBe(5);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
