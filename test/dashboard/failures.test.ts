import { type Database, observer, systemEnvironment, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import type { Acted, Failures, ParkedExport, ParkedPage } from "../../src/dashboard/api/index.js";
import { variants, withDatabase } from "../support/databases.js";
import { served } from "./pipeline.js";

const orders = table("orders", { placed: text(), note: text() });
const fails = { attempts: 1 };
const approve = observer(
  "approve",
  orders.placed,
  (_, { row, value }) => {
    if (value === "good") return;
    throw new RangeError(value === "odd" ? "Nothing works" : `Order ${row} of "${value}" was refused`);
  },
  fails,
);
const notify = observer(
  "notify",
  orders.note,
  (_, { row }) => {
    throw new Error(`No answer from 10.0.0.${row.length}`);
  },
  fails,
);

type Served = Awaited<ReturnType<typeof served>>;

describe.each(variants)("the failures of a database over $store, commit $commit", (variant) => {
  const run = (use: (db: Database, dashboard: Served) => Promise<void>) =>
    withDatabase(
      variant,
      { tables: [orders], observers: [approve, notify], collectEveryMs: 0 },
      async (db) => {
        await using dashboard = await served(db, { tables: [orders], writable: true });
        for (const row of ["o-1", "o-2", "o-3"])
          await db.transact((tx) => tx.set(orders.placed, row, "oslo"));
        await db.transact((tx) => {
          tx.set(orders.placed, "o-4", "odd");
          tx.set(orders.note, "o-1", "x");
        });
        await db.drain();
        await use(db, dashboard);
      },
    );

  const group = async ({ get }: Served, text: string) => {
    const { groups } = await get<Failures>(`failures?text=${encodeURIComponent(text)}`);
    return groups[0]!;
  };

  test("are grouped by observer and kind of error", () =>
    run(async (_, { get }) => {
      const { groups, total, others } = await get<Failures>("failures");
      expect([total, others]).toEqual([{ count: 5, isBound: false }, 0]);
      const shown = Object.fromEntries(
        groups.map(({ message, observer: by, count }) => [message, [by, count]]),
      );
      expect(shown).toEqual({
        'RangeError: Order o-# of "…" was refused': ["approve", 3],
        "RangeError: Nothing works": ["approve", 1],
        "Error: No answer from #": ["notify", 1],
      });
      const times = groups.map(({ lastAt }) => lastAt);
      expect(times).toEqual(times.toSorted((a, b) => b - a));
      const refused = groups.find(({ count }) => count === 3)!;
      expect(refused.lastAt).toBeGreaterThanOrEqual(refused.firstAt);
      const [newest] = refused.newest;
      expect(newest).toMatchObject({ table: "orders", column: "placed", attempts: 1 });
      expect(newest!.error).toBe(`RangeError: Order ${newest!.row} of "oslo" was refused`);
      expect(newest!.parkedAt).toBe(refused.lastAt);
    }));

  test("are found by a part of their error, and listed by group", () =>
    run(async (_, { get }) => {
      expect((await get<Failures>("failures?text=ORDER+O-2")).groups).toMatchObject([{ count: 1 }]);
      expect((await get<Failures>("failures?observer=notify")).groups).toMatchObject([
        { observer: "notify" },
      ]);
      expect((await get<Failures>("failures?text=no+such+thing")).groups).toEqual([]);
      const { groups } = await get<Failures>("failures");
      const refused = groups.find(({ count }) => count === 3)!;
      const first = await get<ParkedPage>(`parked?group=${refused.id}&limit=2`);
      const second = await get<ParkedPage>(`parked?group=${refused.id}&limit=2&after=${first.next}`);
      expect([first, second].map(({ parked }) => parked.map(({ row }) => row))).toEqual([
        ["o-1", "o-2"],
        ["o-3"],
      ]);
      expect(second.next).toBeUndefined();
    }));

  test("of a group are exported as JSON", () =>
    run(async (_, dashboard) => {
      const { id } = await group(dashboard, "order o-#");
      const file = await dashboard.get<ParkedExport>(`parked/export?group=${id}`);
      expect(file).toMatchObject({
        observer: "approve",
        message: 'RangeError: Order o-# of "…" was refused',
        isMore: false,
      });
      expect(file.parked.map(({ row, stack }) => [row, stack?.includes("RangeError")])).toEqual([
        ["o-1", true],
        ["o-2", true],
        ["o-3", true],
      ]);
    }));

  test("of a group are discarded, and no others", () =>
    run(async (db, dashboard) => {
      const { id } = await group(dashboard, "order o-#");
      const { text: said } = await dashboard.post("parked/discard", { group: id });
      expect(JSON.parse(said) as Acted).toEqual({ done: 3, gone: 0, standing: 0 });
      const left: string[] = [];
      for await (const { error } of db.parked()) left.push(error.message);
      expect(left.sort()).toEqual(["No answer from 10.0.0.3", "Nothing works"]);
    }));

  test("of a group are retried step by step, each once even if they are parked again", () =>
    run(async (db, dashboard) => {
      const { id } = await group(dashboard, "order o-#");
      await using _ = db.work();
      const accept = { accept: "application/x-ndjson" };
      const { text: said, headers } = await dashboard.post("parked/retry", { group: id, text: "o-" }, accept);
      expect(headers["content-type"]).toContain("x-ndjson");
      const lines = said
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as object);
      expect(lines.at(-1)).toEqual({ done: 3, gone: 0, standing: 0, ended: true });
      expect(lines.length).toBeGreaterThanOrEqual(2);
    }));

  test("of a group that is not one are refused, also step by step", () =>
    run(async (_, { post, get }) => {
      expect((await post("parked/retry", { group: "x" })).status).toBe(400);
      expect((await post("parked/retry", {})).text).toContain("group");
      const { text: said } = await post(
        "parked/retry",
        { observer: "nobody" },
        { accept: "application/x-ndjson" },
      );
      expect(JSON.parse(said)).toMatchObject({ code: "OBSERVER" });
      await expect(get("failures?observer=nobody")).rejects.toThrow("404");
      await expect(get("parked?group=x")).rejects.toThrow("400");
    }));
});

test("groups are read again after changes were discarded", () =>
  withDatabase(
    { store: "memory", commit: "auto" },
    { tables: [orders], observers: [approve, notify], collectEveryMs: 0 },
    async (db) => {
      // A clock that stands still: an answer is shared for as long as it is not forgotten.
      const environment = { ...systemEnvironment, monotonic: () => 0 };
      await using dashboard = await served(db, { tables: [orders], writable: true, environment });
      await db.transact((tx) => tx.set(orders.placed, "o-1", "oslo"));
      await db.drain();
      expect((await dashboard.get<Failures>("failures")).total.count).toBe(1);
      await dashboard.post("parked/discard", { observer: "approve" });
      expect((await dashboard.get<Failures>("failures")).total.count).toBe(0);
    },
  ));

test("a client that goes away ends its retry", async () => {
  const variant = { store: "memory", commit: "auto" } as const;
  await withDatabase(variant, { tables: [orders], observers: [notify], collectEveryMs: 0 }, async (db) => {
    await using dashboard = await served(db, { tables: [orders], writable: true });
    const count = 400;
    for (let row = 0; row < count; row++) await db.transact((tx) => tx.set(orders.note, `o-${row}`, "x"));
    await db.drain();
    const ending = new AbortController();
    const response = await fetch(new URL("api/parked/discard", dashboard.url), {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/x-ndjson" },
      body: JSON.stringify({ observer: "notify" }),
      signal: ending.signal,
    });
    await response.body!.getReader().read();
    ending.abort();
    const parked = async () => {
      let left = 0;
      for await (const _ of db.parked()) left++;
      return left;
    };
    // The count stays the same once the server has noticed.
    let before = -1;
    await expect
      .poll(
        async () => {
          const now = await parked();
          const isSame = now === before;
          before = now;
          return isSame;
        },
        { interval: 100, timeout: 20_000 },
      )
      .toBe(true);
    expect(before).toBeGreaterThan(0);
  });
});
