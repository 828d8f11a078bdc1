import { describe, expect, test } from "vitest";
import { length, words } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { columnPath } from "../../schema/index.js";
import { freshState, hintAddress, hintPrefix } from "../hint/hint.js";
import { TaskBoard } from "./task-board.js";

function offerOf(row: string, timestamp = 10, waitMs = 0, environment?: TestEnvironment) {
  const cell = { table: "documents", row: Buffer.from(row), column: columnPath("contents") };
  const state =
    waitMs === 0 ? undefined : { ...freshState, attempts: 1, notBefore: environment!.now() + waitMs };
  return {
    observer: length,
    cell,
    hint: hintAddress(hintPrefix("length"), cell),
    timestamp,
    state,
    takenBy: undefined,
  };
}

function makeBoard(queueLimit = 4) {
  const environment = new TestEnvironment();
  const worked = new Set([length.name, words.name]);
  let ready = 0;
  const board = new TaskBoard({
    environment,
    queueLimit: () => queueLimit,
    isWorked: (observer) => worked.has(observer),
    onReady: () => ready++,
  });
  return { board, environment, worked, ready: () => ready };
}

describe("the task board", () => {
  test("takes a hint once, and returns tasks in order", () => {
    const { board, ready } = makeBoard();
    expect(board.offer(offerOf("a"))).toBe("taken");
    expect(board.offer(offerOf("b"))).toBe("taken");
    expect(board.offer(offerOf("a"))).toBe("held");
    expect(ready()).toBe(2);
    const first = board.take("length")!;
    expect(first.cell.row.toString()).toBe("a");
    expect(board.offer(offerOf("a"))).toBe("held");
    board.done(first, 10);
    expect(board.offer(offerOf("a"))).toBe("taken");
    expect(board.isQuiet).toBe(false);
  });

  test("waits no longer than the observer's longest wait, even if another clock wrote more", async () => {
    const { board, environment } = makeBoard();
    board.offer(offerOf("a", 10, 3_600_000, environment));
    await environment.advance(length.backoff.maximumMs - 1);
    expect(board.queued("length")).toBe(0);
    await environment.advance(1);
    expect(board.queued("length")).toBe(1);
  });

  test("lets go of queued tasks that belong to another process, but not of running ones", () => {
    const { board } = makeBoard();
    for (const row of ["a", "b", "c"]) board.offer(offerOf(row));
    const running = board.take("length")!;
    board.letGo(({ cell }) => cell.row.toString() === "b");
    expect(board.queued("length")).toBe(1);
    expect(board.take("length")!.cell.row.toString()).toBe("b");
    expect(board.take("length")).toBeUndefined();
    expect(board.offer(offerOf("c"))).toBe("taken");
    board.done(running, 10);
  });

  test("a withdrawn task does not run, and may be offered again; a running one goes on", () => {
    const forgotten: string[] = [];
    const own = new TaskBoard({
      environment: new TestEnvironment(),
      queueLimit: () => 4,
      isWorked: () => true,
      onReady: () => {},
      onForget: ({ cell, isClaimed }) => forgotten.push(`${Buffer.from(cell.row)} ${isClaimed}`),
    });
    for (const row of ["a", "b", "c"]) own.offer({ ...offerOf(row), isClaimed: true });
    own.withdraw(own.taskOf("length", offerOf("a").cell)!);
    expect(own.queued("length")).toBe(2);
    expect(forgotten).toEqual(["a false"]);
    const running = own.take("length")!;
    expect(Buffer.from(running.cell.row).toString()).toBe("b");
    own.withdraw(running);
    expect(own.running("length")).toBe(1);
    own.done(running, 10);
    expect(own.offer({ ...offerOf("a"), isClaimed: true })).toBe("taken");
    expect(
      [own.take("length"), own.take("length"), own.take("length")].map((each) => each?.cell.row),
    ).toEqual([Buffer.from("c"), Buffer.from("a"), undefined]);
    expect(forgotten).toEqual(["a false", "b false"]);
  });

  test("withdrawing an ended task does not affect the next task of its cell", () => {
    const { board } = makeBoard();
    board.offer({ ...offerOf("a"), isClaimed: true });
    const first = board.take("length")!;
    board.done(first, 10);
    board.offer({ ...offerOf("a", 20), isClaimed: true });
    board.withdraw(first);
    expect(board.queued("length")).toBe(1);
    expect(board.take("length")).toMatchObject({ timestamp: 20, isClaimed: true });
  });

  test("tasks that were let go take no room in the queue, even if no worker takes any", () => {
    const { board } = makeBoard(2);
    for (const row of ["a", "b"]) board.offer(offerOf(row));
    board.letGo(() => false);
    expect(board.room("length")).toBe(2);
    expect(board.offer(offerOf("c"))).toBe("taken");
    expect(board.offer(offerOf("d"))).toBe("taken");
    expect(board.offer(offerOf("e"))).toBe("full");
    expect(`${board.take("length")?.cell.row}`).toBe("c");
    expect(`${board.take("length")?.cell.row}`).toBe("d");
    expect(board.take("length")).toBeUndefined();
  });

  test("neither do withdrawn tasks, and the tasks among them keep their order", () => {
    const { board } = makeBoard(4);
    for (const row of ["a", "b", "c", "d"]) board.offer(offerOf(row));
    const withdraw = (row: string) => board.withdraw(board.taskOf("length", offerOf(row).cell)!);
    for (const row of ["a", "c"]) withdraw(row);
    expect(board.room("length")).toBe(2);
    for (const row of ["e", "f"]) expect(board.offer(offerOf(row))).toBe("taken");
    expect(board.offer(offerOf("g"))).toBe("full");
    for (const row of ["b", "d", "e"]) withdraw(row);
    expect(board.queued("length")).toBe(1);
    expect(`${board.take("length")?.cell.row}`).toBe("f");
    board.offer(offerOf("h"));
    withdraw("h");
    expect(board.room("length")).toBe(4);
    expect(board.take("length")).toBeUndefined();
  });

  test("refuses hints that do not fit, and remembers that it did", () => {
    const { board } = makeBoard(2);
    for (const row of ["a", "b"]) board.offer(offerOf(row));
    expect(board.hasRoom("length")).toBe(false);
    expect(board.offer(offerOf("c"))).toBe("full");
    expect(board.hasOverflowed("length")).toBe(true);
    board.forgetOverflow("length");
    expect(board.hasOverflowed("length")).toBe(false);
    board.take("length");
    expect(board.hasRoom("length")).toBe(true);
  });

  test("a change during a task's run makes it due again, unless the run has seen it", () => {
    const { board } = makeBoard();
    board.offer(offerOf("a", 10));
    const task = board.take("length")!;
    board.offer(offerOf("a", 20));
    board.done(task, 15);
    expect(board.take("length")).toMatchObject({ timestamp: 20 });
    board.offer(offerOf("a", 30));
    board.done(task, 30);
    expect(board.take("length")).toBeUndefined();
    expect(board.isQuiet).toBe(true);
  });

  test("keeps a task until its time, and runs it at once when the cell changes", async () => {
    const { board, environment } = makeBoard();
    board.offer(offerOf("a", 10, 1_000, environment));
    board.offer(offerOf("b", 10, 1_000, environment));
    expect(board.queued("length")).toBe(0);
    board.offer(offerOf("b", 20));
    expect(board.take("length")).toMatchObject({ timestamp: 20, state: undefined });
    await environment.advance(999);
    expect(board.queued("length")).toBe(0);
    await environment.advance(1);
    expect(board.take("length")).toMatchObject({ timestamp: 10 });
  });

  test("is quiet when what it waits for is settled too", async () => {
    const { board } = makeBoard();
    board.offer(offerOf("a"));
    const task = board.take("length")!;
    let settle = () => {};
    const settling = new Promise<void>((resolve) => {
      settle = resolve;
    });
    board.done(task, 10, settling);
    let isQuiet = false;
    const quiet = board.whenQuiet().then(() => {
      isQuiet = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isQuiet).toBe(false);
    expect(board.offer(offerOf("a"))).toBe("held");
    settle();
    await quiet;
    expect(board.size).toBe(0);
  });

  test("lets go of tasks whose observer no worker here runs any more", async () => {
    const { board, environment, worked } = makeBoard();
    board.offer(offerOf("queued"));
    board.offer(offerOf("running"));
    board.take("length");
    const running = board.take("length")!;
    board.offer(offerOf("delayed", 10, 500, environment));
    worked.delete("length");
    board.drop("length");
    expect(board.size).toBe(2);
    board.postpone(running, 100, true);
    expect(board.size).toBe(1);
    await environment.advance(1_000);
    expect(board.queued("length")).toBe(0);
  });

  test("waiting for quiet ends with its signal", async () => {
    const { board } = makeBoard();
    board.offer(offerOf("a"));
    const controller = new AbortController();
    const quiet = board.whenQuiet(controller.signal);
    controller.abort(new Error("enough"));
    await expect(quiet).rejects.toThrow("enough");
  });
});
