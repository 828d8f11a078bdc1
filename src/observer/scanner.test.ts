import { beforeEach, describe, expect, it } from "vitest";
import { columnPath } from "../schema/index.js";
import type { RowStore } from "../store/index.js";
import { memoryStore } from "../store/memory/index.js";
import { putHint } from "../transaction/index.js";
import { hintAddress, hintPrefix } from "./hint.js";
import { Scanner } from "./scanner.js";
import { TaskBoard } from "./task-board.js";
import { length } from "./test-documents.js";
import { TestEnvironment } from "./test-environment.js";

/** A process that shares the work with another one, to which every hint belongs. */
describe("hints of another process's share", () => {
  let environment: TestEnvironment;
  let store: RowStore;
  let board: TaskBoard;
  let scanner: Scanner;

  beforeEach(async () => {
    environment = new TestEnvironment();
    store = memoryStore({ environment });
    board = new TaskBoard({ environment, queueLimit: 100, isWorked: () => true, onReady: () => {} });
    scanner = new Scanner({
      store,
      environment,
      board,
      observer: length,
      owner: "this process",
      sessions: { session: "this session", isLive: () => true },
      shares: { owns: () => false, ownsAll: () => false },
      signal: new AbortController().signal,
    });
    await hint("a", 10);
  });

  async function hint(row: string, timestamp: number): Promise<void> {
    const { table, row: place, column } = hintAddress(hintPrefix(length.name), cellOf(row));
    await store.mutate({ table, row: place, guards: [], mutations: [putHint(column, timestamp)] });
  }

  const cellOf = (row: string) => ({
    table: "documents",
    row: Buffer.from(row),
    column: columnPath("contents"),
  });

  /** Something of its own to do. */
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

  it("count as new when they have changed meanwhile: somebody writes them, and may work on them", async () => {
    expect(await scanner.scan()).toBe(0);
    await environment.advance(1_500);
    await hint("a", 20);
    expect(await scanner.scan()).toBe(0);
    expect(await scanAfter(1_999)).toBe(0);
    expect(await scanAfter(250)).toBe(1);
  });
});
