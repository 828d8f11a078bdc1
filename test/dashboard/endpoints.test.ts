import { type Database, family, type LockInfo, systemEnvironment, table, text } from "percolatordb";
import { schedule } from "percolatordb/recipes";
import { StepHooks, TestClock } from "percolatordb/testing";
import { describe, expect, test, vi } from "vitest";
import type {
  About,
  Acted,
  CellHistory,
  ConflictInsights,
  HeatMap,
  InspectedRow,
  LocksPage,
  Overview,
  ParkedPage,
  Pipeline,
  RowDetail,
  RowsPage,
  TransactionDetail,
  TransactionShown,
  Workers,
} from "../../src/dashboard/api/index.js";
import { variants, withDatabase } from "../support/databases.js";
import { observers, pages, served, tables, titles, totals, visits } from "./pipeline.js";

const reminders = schedule("reminders", { value: text(), fire: () => {} });

type Served = Awaited<ReturnType<typeof served>>;

describe.each(variants)("a dashboard over $store, commit $commit", (variant) => {
  const run = (use: (db: Database, dashboard: Served) => Promise<void>) =>
    withDatabase(variant, { tables, observers, collectEveryMs: 0 }, async (db) => {
      await using dashboard = await served(db, { writable: true, location: "./data" });
      await use(db, dashboard);
    });

  test("shows what is overdue in a schedule", () =>
    withDatabase(variant, { tables: reminders.tables, collectEveryMs: 0 }, async (db) => {
      const now = systemEnvironment.now();
      await db.transact(async (tx) => {
        await reminders.at(tx, "late", now - 90_000, "x");
        await reminders.at(tx, "later", now + 3_600_000, "x");
      });
      await using dashboard = await served(db);
      const { schedules } = await dashboard.get<Overview>("overview");
      expect(schedules).toMatchObject([{ name: "reminders", overdue: { count: 1, isBound: false } }]);
      expect(schedules[0]!.oldestOverdueMs).toBeGreaterThanOrEqual(90_000);
    }));

  test("describes itself, its state, and the flow of data", () =>
    run(async (db, { get }) => {
      await db.transact((tx) => tx.set(pages.body, "a", "good page"), { label: "load" });
      await using worker = db.work();
      await worker.idle();
      const about = await get<About>("about");
      expect(about).toMatchObject({
        location: "./data",
        writable: true,
        reach: "here",
        retentionMs: 3_600_000,
      });
      expect(about.commit).toBe(variant.commit === "auto" ? "one-phase" : "two-phase");
      // The server may return an earlier result for a moment.
      const overview = await until(
        () => get<Overview>("overview"),
        ({ pending, observers: all, locks }) => {
          const isRun = pending.count === 0 && all.some(({ hosts }) => hosts === 1);
          // The first count of the locks may take longer than the overview waits for it.
          return isRun && all[1]!.delay.count > 0 && !locks.isBound;
        },
      );
      const [first, second] = overview.observers;
      expect(overview.observers.map(({ name }) => name)).toEqual(["checks", "titles"]);
      expect(first).toMatchObject({ watches: "pages.title", hosts: 1 });
      expect(second?.delay.p50Ms).toBeGreaterThan(0);
      expect(overview).toMatchObject({ workers: 1, reach: "here", locks: { count: 0, isBound: false } });
      expect(overview.commits.values.length).toBe(300);
      expect(overview.transactionDuration.count).toBeGreaterThanOrEqual(3);
      const { tables: shown, flows } = await get<Pipeline>("pipeline");
      expect(shown.find(({ name }) => name === "pages")?.columns).toContainEqual({
        name: "look",
        kind: "signal",
      });
      const said = flows.map(({ observer, does, table, column }) => `${observer} ${does} ${table}.${column}`);
      expect(said).toEqual(
        expect.arrayContaining([
          "titles reads pages.body",
          "titles reads totals.hits",
          "titles writes pages.title",
          "titles writes totals.hits",
          "checks reads pages.title",
        ]),
      );
      const { sessions } = await get<Workers>("workers");
      expect(sessions).toMatchObject([{ observers: ["titles", "checks"], isHere: true, running: 0 }]);
      expect(sessions[0]!.memoryBytes).toBeGreaterThan(1_000_000);
    }));

  test("shows data as of any time, page by page", () =>
    run(async (db, { get }) => {
      await db.transact((tx) => {
        for (const row of ["a", "b/1", "b/2", "b/3", "c"]) tx.set(pages.body, row, `body of ${row}`);
        tx.set(pages.links.at("x:y"), "a", "link");
        tx.set(visits.seconds, ["p", 2], 7);
        tx.set(visits.seconds, ["p", 10], 8);
      });
      const before = await get<RowsPage>("rows?table=pages&limit=2");
      expect(before.rows.map(({ row }) => row)).toEqual(["a", "b/1"]);
      expect(before.columns).toEqual(["body", "title", "links"]);
      expect(before.rows[0]?.cells).toEqual([
        { column: "body", value: { text: "body of a", bytes: 9, isCut: false } },
        { column: "links:x:y", value: { text: "link", bytes: 4, isCut: false } },
      ]);
      await db.transact(async (tx) => {
        tx.set(pages.body, "b/2", "x".repeat(1_000));
        await tx.deleteRow(pages, "a");
      });
      const next = await get<RowsPage>(`rows?table=pages&limit=9&after=${before.next}&at=${before.at}`);
      expect(next.rows.map(({ row, cells }) => [row, cells[0]?.value.text])).toEqual([
        ["b/2", "body of b/2"],
        ["b/3", "body of b/3"],
        ["c", "body of c"],
      ]);
      expect(next.next).toBeUndefined();
      const prefixed = await get<RowsPage>("rows?table=pages&prefix=b/&limit=2");
      expect(prefixed.rows.map(({ row }) => row)).toEqual(["b/1", "b/2"]);
      expect(prefixed.rows[1]?.cells[0]?.value).toEqual({ text: "x".repeat(200), bytes: 1_000, isCut: true });
      const behind = await get<RowsPage>("rows?table=pages&prefix=b/&after=b/2");
      expect([behind.rows.map(({ row }) => row), behind.next]).toEqual([["b/3"], undefined]);
      const tupled = await get<RowsPage>(`rows?table=visits&limit=1&prefix=${encodeURIComponent('["p"]')}`);
      expect([tupled.rows[0]?.row, tupled.next]).toEqual(['["p",2]', '["p",2]']);
      expect([tupled.keyParts, before.keyParts]).toEqual([2, undefined]);
      await db.transact((tx) => tx.set(visits.seconds, ["page", 1], 9));
      for (const [prefix, rows] of [
        ["p", ['["p",2]', '["p",10]', '["page",1]']],
        ["pa", ['["page",1]']],
        ["x", []],
      ] as const) {
        const found = await get<RowsPage>(`rows?table=visits&prefix=${prefix}`);
        expect([prefix, found.rows.map(({ row }) => row)]).toEqual([prefix, rows]);
      }
      const detail = await get<RowDetail>("row?table=pages&row=b/2");
      expect(detail.cells[0]?.value).toMatchObject({ bytes: 1_000, isCut: false });
      expect((await get<RowDetail>("row?table=pages&row=a")).cells).toEqual([]);
      expect((await get<RowDetail>(`row?table=pages&row=a&at=${before.at}`)).cells.length).toBe(2);
      const now = await get<RowDetail>(`row?table=pages&row=c&at=${Date.now()}`);
      expect(now.cells.length).toBe(1);
    }));

  test("the row with the empty key is the last one of a page", () =>
    run(async (db, { get }) => {
      await db.transact((tx) => {
        for (const row of ["", "a"]) tx.set(pages.body, row, "x");
      });
      const first = await get<RowsPage>("rows?table=pages&limit=1");
      expect([first.rows.map(({ row }) => row), first.next]).toEqual([[""], ""]);
      const next = await get<RowsPage>(`rows?table=pages&limit=1&after=${first.next}`);
      expect([next.rows.map(({ row }) => row), next.next]).toEqual([["a"], undefined]);
    }));

  test("says of a row with very many cells that it shows only some", () =>
    run(async (db, { get }) => {
      await db.transact((tx) => {
        tx.set(pages.title, "a", "last in byte order");
        for (let number = 0; number < 1_100; number++) tx.set(pages.links.at(`b/${number}`), "a", "");
        tx.set(pages.body, "b", "few cells");
      });
      const [wide, narrow] = (await get<RowsPage>("rows?table=pages")).rows;
      expect([wide!.cells.length, wide!.isCut]).toEqual([100, true]);
      expect(narrow!.isCut).toBe(false);
      const alone = await get<RowDetail>("row?table=pages&row=a");
      expect([alone.cells.length, alone.isCut]).toEqual([1_000, true]);
    }));

  // Hundreds of transactions, one after the other.
  if (variant.store === "memory") {
    test("says of a cell with very many versions that it shows only the newest", () =>
      run(async (db, { get }) => {
        const history = () => get<CellHistory>("history?table=totals&row=a&column=hits");
        const count = (hits: number) =>
          db.transact((tx) => tx.set(totals.hits, "a", hits), { label: "count" });
        for (let hits = 1; hits <= 500; hits++) await count(hits);
        expect((await history()).isCut).toBe(false);
        await count(501);
        const { versions, isCut } = await history();
        expect([versions.length, versions[0]!.value?.text, isCut]).toEqual([500, "501", true]);
        expect(new Set(versions.map(({ writer }) => writer?.name))).toEqual(new Set(["count"]));
      }));
  }

  test("shows a cell's versions and a row's protocol cells", () =>
    run(async (db, { get }) => {
      await db.transact((tx) => tx.set(pages.body, "a", "one two"));
      await db.drain();
      await db.transact((tx) => tx.delete(pages.body, "a"));
      const history = await get<CellHistory>("history?table=pages&row=a&column=body");
      expect(history.versions.map(({ value }) => value?.text)).toEqual([undefined, "one two"]);
      const [deleted, put] = history.versions;
      expect(deleted!.commitTimestamp).toBeGreaterThan(put!.commitTimestamp);
      expect(deleted!.writer).toMatchObject({ process: systemEnvironment.processName });
      expect(deleted!.writer!.name).toBeUndefined();
      const row = await get<RowDetail>("row?table=pages&row=a");
      const shown = row.cells.find(({ column }) => column === "title")!;
      expect(shown.writer).toMatchObject({ name: "titles", isObserver: true });
      const title = await get<CellHistory>("history?table=pages&row=a&column=title");
      expect(title.versions[0]!.writer).toMatchObject({ name: "titles", isObserver: true });
      const writer = await get<TransactionDetail>(`transaction?id=${title.versions[0]!.writer!.id}`);
      expect(writer.commitTimestamp).toBe(title.versions[0]!.commitTimestamp);
      const inspected = await get<InspectedRow>("inspect?table=pages&row=a");
      const roles = Object.fromEntries(inspected.columns.map(({ column, role }) => [column, role]));
      expect(roles).toMatchObject({ body: "user", title: "user", "~ack titles body": "acknowledgment" });
      const body = inspected.columns.find(({ column }) => column === "body")!;
      const stamps = body.entries.map(({ timestamp }) => timestamp);
      expect(stamps).toEqual(stamps.toSorted((a, b) => b - a));
      const written = body.entries.find(({ timestamp }) => timestamp === put!.commitTimestamp);
      expect(written?.write).toContain(`put from ${put!.startTimestamp}`);
      expect(written?.data?.text).toBe("one two");
      expect(inspected.hints).toMatchObject([
        { observer: "titles", column: "body", since: deleted!.commitTimestamp },
      ]);
    }));

  test("shows transactions with their causes and effects, and which ones conflict with each other", () =>
    run(async (db, { get }) => {
      const loser = await db.begin({ label: "slow" });
      await db.transact((tx) => tx.set(pages.body, "a", "good"), { label: "quick" });
      loser.set(pages.body, "a", "late");
      await expect(loser.commit()).rejects.toThrow("conflicts");
      await db.drain();
      const listed = await get<TransactionShown[]>("transactions");
      expect(listed.map(({ outcome }) => outcome)).toContain("conflict");
      const [lost] = await get<TransactionShown[]>("transactions?outcome=conflict&label=slow&table=pages");
      expect(lost?.conflict).toMatchObject({
        cell: { table: "pages", row: "a", column: "body" },
        winner: "quick",
      });
      const [change] = await get<TransactionShown[]>("transactions?label=quick");
      const [run] = await get<TransactionShown[]>("transactions?observer=titles&outcome=committed");
      expect(run?.cause).toMatchObject({ cell: { row: "a" }, commitTimestamp: change!.commitTimestamp });
      const effect = await get<TransactionDetail>(`transaction?id=${run!.id}`);
      expect(effect.causedBy?.id).toBe(change!.id);
      expect(effect.read).toContainEqual({ table: "totals", row: "all", column: "hits" });
      expect(effect.written.map(({ table, column }) => `${table}.${column}`).sort()).toEqual([
        "pages.title",
        "totals.hits",
      ]);
      expect(effect.spans.map(({ kind }) => kind)).toContain("step");
      const cause = await get<TransactionDetail>(`transaction?id=${change!.id}`);
      expect(cause.caused.map(({ observer }) => observer)).toEqual(["titles"]);
      const { pairs } = await get<ConflictInsights>("conflicts");
      expect(pairs).toMatchObject([{ cell: { row: "a" }, count: 1, loser: "slow", winner: "quick" }]);
      expect(pairs[0]?.advice).toContain('"slow" and "quick" overlap');
      const { columns } = await get<ConflictInsights>("conflicts");
      expect(columns).toMatchObject([
        {
          table: "pages",
          column: "body",
          isInternal: false,
          count: 1,
          rowCount: 1,
          rows: [{ row: "a", count: 1 }],
        },
      ]);
      // One conflict of a row needs no remedy.
      expect(columns[0]).not.toHaveProperty("remedy");
    }));

  test("keeps what is slow, conflicts or fails in lists of its own", () =>
    run(async (db, { get }) => {
      const failing = db.transact(() => Promise.reject(new RangeError("mine")), {
        label: "fails",
        retries: 0,
      });
      await expect(failing).rejects.toThrow("mine");
      const slow = await db.begin({ label: "slow" });
      slow.set(pages.body, "slow", "x");
      await new Promise((resolve) => setTimeout(resolve, 30));
      await slow.commit();
      for (let row = 0; row < 20; row++)
        await db.transact((tx) => tx.set(totals.hits, `r${row}`, 1), { label: "quick" });
      const list = (query: string) => get<TransactionShown[]>(`transactions?${query}`);
      expect((await list("list=failed"))[0]).toMatchObject({ label: "fails", error: "RangeError: mine" });
      const took = (await list("list=slow")).map(({ durationMs }) => durationMs);
      expect(took).toEqual(took.toSorted((one, other) => other - one));
      const [found] = await list("list=slow&label=slow");
      expect(found).toMatchObject({ label: "slow", tables: ["pages"] });
      // It waited for 30 ms. Timers may fire a little early.
      expect(found!.durationMs).toBeGreaterThan(25);
      const bound = Math.floor(found!.durationMs);
      const slower = await list(`slowerThanMs=${bound}`);
      expect(slower.map(({ label }) => label)).toContain("slow");
      expect(slower.every(({ durationMs }) => durationMs >= bound)).toBe(true);
      expect(await list("list=conflicts")).toEqual([]);
      await expect(list("list=nothing")).rejects.toThrow("400");
    }));

  test("lists parked changes page by page, and retries or discards them", () =>
    run(async (db, { get, post }) => {
      for (const row of ["a", "b", "c"]) await db.transact((tx) => tx.set(pages.body, row, "bad page"));
      await db.drain();
      const first = await get<ParkedPage>("parked?limit=2");
      expect(first.parked).toMatchObject([
        { observer: "checks", table: "pages", row: "a", column: "title", attempts: 1 },
        { row: "b", error: "TypeError: this title is bad" },
      ]);
      const second = await get<ParkedPage>(`parked?limit=2&after=${first.next}`);
      expect([second.parked.map(({ row }) => row), second.next]).toEqual([["c"], undefined]);
      const { id } = first.parked[0]!;
      const act = async (path: string, body: object) => JSON.parse((await post(path, body)).text) as Acted;
      expect(await act("parked/discard", { id })).toEqual({ done: 1, gone: 0, standing: 0 });
      expect(await act("parked/discard", { id })).toEqual({ done: 0, gone: 1, standing: 0 });
      // A change that is gone still says where its page ended.
      expect((await get<ParkedPage>(`parked?after=${id}`)).parked.map(({ row }) => row)).toEqual(["b", "c"]);
      expect(await act("parked/retry", { observer: "checks" })).toEqual({ done: 2, gone: 0, standing: 0 });
      expect((await get<ParkedPage>("parked?observer=checks")).parked).toEqual([]);
      await db.drain();
      expect((await get<ParkedPage>("parked")).parked.map(({ row }) => row)).toEqual(["b", "c"]);
    }));

  test("shows the hottest rows", () =>
    run(async (db, { get }) => {
      for (let row = 0; row < 40; row++) {
        await db.transact((tx) => tx.set(pages.body, `r${String(row).padStart(2, "0")}`, "x"));
      }
      for (let count = 0; count < 3; count++) await db.transact((tx) => tx.set(totals.hits, "all", count));
      const map = await get<HeatMap>("heat?table=pages&metric=writes");
      const all = map.counts.flat().reduce((sum, each) => sum + each, 0);
      expect(Math.abs(all - 40)).toBeLessThanOrEqual(map.ranges.length);
      expect(map.ranges.length).toBeGreaterThan(10);
      expect(map.ranges).toEqual(map.ranges.toSorted());
      expect(map.ranges[0]).toBe("r00");
      const hottest = await get<HeatMap>("heat");
      expect([hottest.table, hottest.metric]).toEqual(["pages", "writes"]);
      expect(hottest.totals).toEqual([
        { table: "pages", count: 40 },
        { table: "totals", count: 3 },
      ]);
      const hints = await get<HeatMap>("heat?table=pages&metric=hints");
      expect(hints.counts.flat().some((count) => count > 0)).toBe(true);
      expect((await get<HeatMap>("heat?table=visits&metric=conflicts")).ranges).toEqual([]);
    }));

  test("reports absent things, and invalid requests", () =>
    run(async (_, { url }) => {
      const wrong = [
        ["rows?table=none", 404, "SCHEMA"],
        ["rows", 400, "INVALID_ARGUMENT"],
        ["rows?table=pages&limit=0", 400, "INVALID_ARGUMENT"],
        ["rows?table=pages&at=tomorrow", 400, "INVALID_ARGUMENT"],
        ["rows?table=pages&at=9000000000000", 400, "INVALID_ARGUMENT"],
        ["row?table=visits&row=x", 400, "INVALID_KEY"],
        ["history?table=pages&row=a&column=none", 404, "SCHEMA"],
        ["history?table=pages&row=a&column=links", 404, "SCHEMA"],
        ["transaction?id=x", 404, "NOT_FOUND"],
        ["transactions?outcome=maybe", 400, "INVALID_ARGUMENT"],
        ["parked?observer=nobody", 404, "OBSERVER"],
        ["parked?after=x", 400, "INVALID_ARGUMENT"],
        ["heat?table=pages&metric=cold", 400, "INVALID_ARGUMENT"],
        ["nothing", 404, "NOT_FOUND"],
      ] as const;
      for (const [path, status, code] of wrong) {
        const response = await fetch(new URL(`api/${path}`, url));
        const failure = (await response.json()) as { readonly code: string; readonly message: string };
        expect([path, response.status, failure.code]).toEqual([path, status, code]);
        expect(failure.message.length).toBeGreaterThan(10);
      }
    }));
});

test("locks are listed page by page, and resolved unless their owners live", async () => {
  const hooks = new StepHooks();
  const options = { tables, hooks, collectEveryMs: 0, lockTtlMs: 60_000 };
  await withDatabase({ store: "memory", commit: "two-phase" }, options, async (db) => {
    await using dashboard = await served(db, { writable: true });
    const pause = hooks.pauseBefore("commit-timestamp");
    const committing = db.transact((tx) => {
      for (const row of ["a", "b", "c"]) tx.set(pages.body, row, "x");
    });
    await pause.reached;
    const first = await dashboard.get<LocksPage>("locks?limit=2");
    const primary = { table: "pages", row: "a", column: "body" };
    expect(first.locks).toMatchObject([
      { row: "a", kind: "put", isPrimary: true, primary, ttlMs: 60_000 },
      { row: "b", isPrimary: false, primary },
    ]);
    expect(first.locks[0]).not.toHaveProperty("ownerLives");
    const second = await dashboard.get<LocksPage>(`locks?limit=2&after=${first.next}`);
    expect([second.locks.map(({ row }) => row), second.next]).toEqual([["c"], undefined]);
    const resolve = async (body: object) => await dashboard.post("locks/resolve", body);
    const { id } = first.locks[0]!;
    expect(JSON.parse((await resolve({ id })).text)).toEqual({ done: 0, gone: 0, standing: 1 });
    pause.resume();
    await committing;
    expect(JSON.parse((await resolve({ id })).text)).toEqual({ done: 0, gone: 1, standing: 0 });
    expect((await resolve({ id: "x" })).status).toBe(400);
    expect((await resolve({})).status).toBe(400);
  });
});

test("viewers share one search for locks, which stops after three seconds and says so", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, collectEveryMs: 0 }, async (db) => {
    const clock = new TestClock();
    await using dashboard = await served(db, { environment: clock.process() });
    const locks = vi.spyOn(db, "locks").mockImplementation(async function* ({ signal } = {}) {
      yield* [];
      await new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
    });
    const asked = [1, 2, 3].map(() => dashboard.get<LocksPage>("locks"));
    await vi.waitFor(() => expect(locks).toHaveBeenCalled());
    await clock.advance(3_000);
    expect((await Promise.all(asked)).map(({ isCut }) => isCut)).toEqual([true, true, true]);
    expect(locks).toHaveBeenCalledOnce();
  });
});

test("pages of locks skip none of the tables that have no definition", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, collectEveryMs: 0 }, async (db) => {
    await using dashboard = await served(db);
    const lock = (table: string, row: string): LockInfo => {
      const cell = { table, row: Buffer.from(row), column: Buffer.from("c") };
      const owner = { session: "s", refreshedAt: new Date(0), ttlMs: 1, minCommitTimestamp: 1 };
      return {
        cell,
        primary: cell,
        isPrimary: true,
        kind: "put",
        startTimestamp: 1,
        valueBytes: 1,
        ...owner,
      };
    };
    const found = [lock("dropped", "z"), lock("~system", "m"), lock("~feeds", "a")];
    vi.spyOn(db, "cellTables").mockResolvedValue(found.map(({ cell }) => cell.table));
    vi.spyOn(db, "locks").mockImplementation(async function* () {
      yield* found;
    });
    const listed: string[] = [];
    let next: string | undefined = "";
    while (next !== undefined) {
      const page: LocksPage = await dashboard.get(`locks?limit=1&after=${next}`);
      listed.push(...page.locks.map(({ table }) => table));
      next = page.next;
    }
    expect(listed).toEqual(["dropped", "~system", "~feeds"]);
  });
});

test("viewers share one look at a row, which says if it shows only a part", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, collectEveryMs: 0 }, async (db) => {
    const clock = new TestClock();
    await using dashboard = await served(db, { environment: clock.process() });
    const hit = (hits: number) => db.transact((tx) => tx.set(totals.hits, "a", hits));
    for (let hits = 1; hits <= 200; hits++) await hit(hits);
    const inspect = vi.spyOn(db, "inspectEach");
    const look = () => dashboard.get<InspectedRow>("inspect?table=totals&row=a");
    const looks = await Promise.all([look(), look(), look()]);
    expect(looks.map(({ isCut }) => isCut)).toEqual([false, false, false]);
    expect(inspect).toHaveBeenCalledOnce();
    await hit(201);
    await clock.advance(1_000);
    const { columns, isCut } = await look();
    expect([columns[0]!.entries.length, isCut]).toEqual([200, true]);
  });
});

test("of a wide row only the columns that are shown are read", async () => {
  const wide = table("wide", { cells: family(text()) });
  await withDatabase(
    { store: "memory", commit: "auto" },
    { tables: [wide], collectEveryMs: 0 },
    async (db) => {
      await using dashboard = await served(db);
      await db.transact((tx) => {
        for (let cell = 0; cell < 2_000; cell++) tx.set(wide.cells.at(String(cell)), "a", "");
      });
      const { inspectEach } = db;
      let read = 0;
      vi.spyOn(db, "inspectEach").mockImplementation(async function* (...of) {
        for await (const column of inspectEach.apply(db, of)) {
          read++;
          yield column;
        }
      });
      const { columns, isCut } = await dashboard.get<InspectedRow>("inspect?table=wide&row=a");
      expect([columns.length, isCut, read]).toEqual([500, true, 501]);
    },
  );
});

test("a row that does not exist is not looked for behind its place", async () => {
  const read = new Set<string>();
  const hooks = new StepHooks();
  const noting = Object.assign(hooks, {
    read: ({ cell }: { readonly cell: { readonly row: Uint8Array } }) => read.add(String(cell.row)),
  });
  const options = { tables, hooks: noting, collectEveryMs: 0 };
  await withDatabase({ store: "memory", commit: "auto" }, options, async (db) => {
    await using dashboard = await served(db);
    const rows = Array.from({ length: 200 }, (_, n) => `b${n}`);
    await db.transact((tx) => {
      for (const row of rows) tx.set(pages.body, row, "x");
    });
    await db.transact((tx) => {
      for (const row of rows) tx.delete(pages.body, row);
    });
    read.clear();
    expect((await dashboard.get<RowDetail>("row?table=pages&row=a")).cells).toEqual([]);
    expect([...read].filter((row) => row.startsWith("b")).length).toBeLessThan(50);
  });
});

test("the backlog is counted, with its age", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, observers: [titles] }, async (db) => {
    await using dashboard = await served(db);
    for (const row of ["a", "b"]) await db.transact((tx) => tx.set(pages.body, row, "x"));
    const { pending, observers: all } = await dashboard.get<Overview>("overview");
    expect(pending).toEqual({ count: 2, isBound: false });
    expect(all[0]!.oldestPendingMs).toBeGreaterThanOrEqual(0);
  });
});

test("if runs conflict over one number, the advice is a combine queue", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, observers: [titles] }, async (db) => {
    await using dashboard = await served(db);
    for (let row = 0; row < 30; row++) await db.transact((tx) => tx.set(pages.body, `r${row}`, "x"));
    await db.drain();
    expect(await db.transact((tx) => tx.get(totals.hits, "all"))).toBe(30);
    const { pairs } = await dashboard.get<ConflictInsights>("conflicts");
    expect(pairs[0]).toMatchObject({
      cell: { table: "totals", row: "all" },
      loser: "titles",
      winner: "titles",
    });
    expect(pairs[0]?.advice).toContain("combine queue");
  });
});

/** Repeats the request until the answer is as wanted. */
async function until<T>(get: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries++) {
    const answer = await get();
    if (isWanted(answer) || tries === 600) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
