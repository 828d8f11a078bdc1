import { beforeEach, describe, expect, it } from "vitest";
import { length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { columnPath } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { putHint } from "../../transaction/index.js";
import { bucketOf, deleteHint, hintAddress, hintPrefix, writeHintState } from "../hint/hint.js";
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
    board = new TaskBoard({ environment, queueLimit: () => 100, isWorked: () => true, onReady: () => {} });
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
      sessions: { session: "this session", isHosting },
      shares: { owns: () => false, ownsAll: () => false },
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

  it("are taken on by an idle process that has seen them stand for 2 seconds", async () => {
    expect(await scanner.scan()).toBe(0);
    expect(await scanAfter(1_999)).toBe(0);
    expect(await scanAfter(250)).toBe(1);
    expect(board.queued(length.name)).toBe(1);
  });

  it("are left by a busy process until they have stood for 20 seconds", async () => {
    keepBusy();
    expect(await scanner.scan()).toBe(0);
    expect(await scanAfter(2_250)).toBe(0);
    expect(await scanAfter(17_749)).toBe(0);
    expect(await scanAfter(250)).toBe(1);
  });

  it("count as new if they changed meanwhile: another process writes them, and may work on them", async () => {
    expect(await scanner.scan()).toBe(0);
    await environment.advance(1_500);
    await hint("a", 20);
    expect(await scanner.scan()).toBe(0);
    expect(await scanAfter(1_999)).toBe(0);
    expect(await scanAfter(250)).toBe(1);
  });

  const remove = (row: string, timestamp: number) =>
    store.mutate(deleteHint(hintAddress(hintPrefix(length.name), cellOf(row)), timestamp));

  /** Shows it `count` hints of a process that is as busy as itself, and that then handles them. */
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

  /** How many looks it takes until a hint is taken on, at four looks a second. */
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

  it("are found as fast next to one that is written again and again", async () => {
    let timestamp = 10;
    const renew = () => hint("a", ++timestamp);
    await scanner.scan();
    await seeManyGo(5_000, renew);
    for (let look = 0; look < 300; look++) {
      await renew();
      expect(await scanAfter(1_000)).toBe(0);
    }
    await hint("late", 20);
    expect(await looksUntilTaken(renew)).toBeLessThanOrEqual(10);
    expect(board.taskOf(length.name, cellOf("late"))).toBeDefined();
  });

  it("are found behind very many that another process runs", async () => {
    const bucket = bucketOf(Buffer.from("a"));
    const rows = Array.from({ length: 30_000 }, (_, index) => `row ${index}`);
    const others = rows.filter((row) => bucketOf(Buffer.from(row)) === bucket).sort();
    expect(others.length).toBeGreaterThan(300);
    await remove("a", 10);
    for (const row of others) {
      await hint(row, 10);
      const address = hintAddress(hintPrefix(length.name), cellOf(row));
      if (row === others.at(-1)) continue;
      await writeHintState(store, address, 10, { attempts: 1, notBefore: 0, runner: "another session" });
    }
    expect(await looksUntilTaken()).toBeLessThanOrEqual(20);
    expect(board.taskOf(length.name, cellOf(others.at(-1)!))).toBeDefined();
  });

  it("are all taken on in the end, however many there are, by a busy process too", async () => {
    board = new TaskBoard({ environment, queueLimit: () => 20_000, isWorked: () => true, onReady: () => {} });
    scanner = makeScanner();
    keepBusy();
    for (let index = 1; index < 4_500; index++) await hint(`row ${index}`, 10);
    let taken = 0;
    for (let look = 0; look < 400; look++) taken += await scanAfter(250);
    expect(taken).toBe(4_500);
  });
});
