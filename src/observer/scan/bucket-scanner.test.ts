import { beforeEach, describe, expect, it } from "vitest";
import { documents, length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { columnPath } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { putHint } from "../../transaction/index.js";
import { deleteHint, hintAddress, hintPrefix } from "../hint/hint.js";
import { observer } from "../index.js";
import { TaskBoard } from "../queue/task-board.js";
import { BucketScanner } from "./bucket-scanner.js";

/** A process that shares the work with another, which owns every hint. */
describe("hints of another process's share", () => {
  let environment: TestEnvironment;
  let store: RowStore;
  let board: TaskBoard;
  let scanner: BucketScanner;

  beforeEach(async () => {
    environment = new TestEnvironment();
    store = memoryStore({ environment });
    board = new TaskBoard({ environment, queueLimit: () => 100, isWorked: () => true });
    scanner = makeScanner();
    await hint("a", 10);
  });

  function makeScanner(): BucketScanner {
    const isHosting = (session: string) => session === "another session";
    return new BucketScanner({
      store,
      environment,
      board,
      observer: length,
      owner: "this process",
      sessions: { session: "this session", isHosting, notice: async () => undefined },
      assignment: { owns: () => false, ownsAll: () => false },
      signal: new AbortController().signal,
    });
  }

  async function hint(row: string, timestamp: number): Promise<void> {
    const { table, row: place, column } = hintAddress(hintPrefix(length.name), cellOf(row));
    await store.mutate({ table, row: place, guards: [], mutations: [putHint(column, timestamp)] });
  }

  const cellOf = (row: string) => ({
    table: "documents",
    row: Buffer.from(row),
    column: columnPath("contents"),
  });

  /** Gives the process its own task. */
  function keepBusy(): void {
    const cell = cellOf("own");
    const own = hintAddress(hintPrefix(length.name), cell);
    board.offer({
      observer: length,
      cell,
      hint: own,
      timestamp: 1,
      state: undefined,
      takenBy: "this process",
    });
  }

  async function scanAfter(ms: number): Promise<number> {
    await environment.advance(ms);
    return scanner.scan();
  }

  const remove = (row: string, timestamp: number) =>
    store.mutate(deleteHint(hintAddress(hintPrefix(length.name), cellOf(row)), timestamp));

  /**
   * Shows the scanner `count` hints of a process that is as busy as its own. That process then
   * handles the hints.
   */
  async function seeManyGo(count: number, meanwhile: () => Promise<void>): Promise<void> {
    const rows = Array.from({ length: count }, (_, index) => `row ${index}`);
    for (const row of rows) await hint(row, 10);
    keepBusy();
    for (let look = 0; look < 70; look++) {
      await meanwhile();
      expect(await scanAfter(250)).toBe(0);
    }
    for (const row of rows) await remove(row, 10);
    board.drop(length.name);
  }

  /** Returns how many scans it takes until a hint is taken over, at four scans a second. */
  async function looksUntilTaken(meanwhile: () => Promise<void> = async () => {}): Promise<number> {
    for (let look = 1; look <= 100; look++) {
      await meanwhile();
      if ((await scanAfter(250)) > 0) return look;
    }
    return Number.POSITIVE_INFINITY;
  }

  it("are found as fast after many others that are gone", async () => {
    await remove("a", 10);
    await seeManyGo(5_000, async () => {});
    await hint("late", 20);
    expect(await looksUntilTaken()).toBeLessThanOrEqual(10);
    expect(board.taskOf(length.name, cellOf("late"))).toBeDefined();
  });

  it("wait as long for a process that is busy with another observer", async () => {
    const row = cellOf("own");
    const busy = observer("another", documents.contents, () => {});
    const own = hintAddress(hintPrefix(busy.name), row);
    const offer = { observer: busy, cell: row, hint: own, timestamp: 1, state: undefined };
    board.offer({ ...offer, takenBy: "this process" });
    expect(await looksUntilTaken(() => environment.advance(1_750))).toBe(Number.POSITIVE_INFINITY);
    board.drop(busy.name);
    await hint("a", 20);
    expect(await looksUntilTaken()).toBeLessThanOrEqual(10);
  });

  it("are all taken over in the end, however many there are, by a busy process too", async () => {
    board = new TaskBoard({ environment, queueLimit: () => 20_000, isWorked: () => true });
    scanner = makeScanner();
    keepBusy();
    for (let index = 1; index < 4_500; index++) await hint(`row ${index}`, 10);
    let taken = 0;
    for (let look = 0; look < 400; look++) taken += await scanAfter(2_500);
    expect(taken).toBe(4_500);
  });
});

/** The only process. */
describe("hints of its own share", () => {
  const environment = new TestEnvironment();

  /** A scanner over so many hints, the tasks that it takes on, and the ranges of hints that it reads. */
  async function scannerOver(hints: number, queueLimit: number) {
    const store = memoryStore({ environment });
    for (let index = 0; index < hints; index++) {
      const cell = { table: "documents", row: Buffer.from(`row ${index}`), column: columnPath("contents") };
      const { table, row, column } = hintAddress(hintPrefix(length.name), cell);
      await store.mutate({ table, row, guards: [], mutations: [putHint(column, 10)] });
    }
    let reads = 0;
    const counting = Object.create(store, {
      readRange: {
        value: (read: Parameters<RowStore["readRange"]>[0]) => {
          reads++;
          return store.readRange(read);
        },
      },
    }) as RowStore;
    const board = new TaskBoard({ environment, queueLimit: () => queueLimit, isWorked: () => true });
    const scanner = new BucketScanner({
      store: counting,
      environment,
      board,
      observer: length,
      owner: "this process",
      sessions: { session: "this session", isHosting: () => false, notice: async () => undefined },
      assignment: { owns: () => true, ownsAll: () => true },
      signal: new AbortController().signal,
    });
    return { scanner, board, reads: () => reads };
  }

  it("are found in one read if there are few", async () => {
    for (const hints of [0, 1, 100]) {
      const { scanner, board, reads } = await scannerOver(hints, 1_000);
      expect(await scanner.scan()).toBe(hints);
      expect([reads(), board.size, scanner.isUnfinished]).toEqual([1, hints, false]);
    }
  });

  it("are all found if there are more than a page has", async () => {
    const { scanner, board } = await scannerOver(1_000, 2_000);
    expect(await scanner.scan()).toBe(1_000);
    expect([board.size, scanner.isUnfinished]).toEqual([1_000, false]);
  });

  it.each([100, 1_000])("are all found by later scans if the queue is full, of %i", async (hints) => {
    const { scanner, board } = await scannerOver(hints, 30);
    let [taken, scans] = [0, 0];
    do {
      taken += await scanner.scan();
      for (let task = board.take(length.name); task !== undefined; task = board.take(length.name));
    } while (scanner.isUnfinished && ++scans < 100);
    expect(taken).toBe(hints);
  });
});
