import { expect, test } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import { int, table } from "../../schema/index.js";
import { RowTurns, rowKey } from "../../transaction/index.js";
import { observer } from "../index.js";
import { TaskBoard } from "./task-board.js";

const boxes = table("boxes", { width: int() });
const watching = observer("watching", boxes.width, () => {});
const cell = { table: "boxes", row: Buffer.from("a"), column: Buffer.from("width") };
const row = rowKey(cell.table, cell.row);
const turns = new RowTurns(systemEnvironment);

/** A board that has taken on the hint of a change at 10, and what else happens to that cell. */
function boardOfOne() {
  const board = new TaskBoard({
    environment: systemEnvironment,
    queueLimit: () => 100,
    isWorked: () => true,
    turns,
  });
  const offer = (timestamp: number) =>
    board.offer({ observer: watching, cell, hint: cell, timestamp, state: undefined, takenBy: undefined });
  offer(10);
  const handledBeside = (start: number) => board.handledBeside("watching", cell, start);
  return { board, offer, handledBeside, task: board.taskOf("watching", cell)! };
}

test("a run of another task ends a queued or a waiting task whose changes it has handled", () => {
  const { board, offer, handledBeside, task } = boardOfOne();
  handledBeside(9);
  expect(board.size).toBe(1);
  handledBeside(10);
  expect([board.size, board.queued("watching"), board.isQuiet]).toEqual([0, 0, true]);
  board.runAfterAll(task);
  expect(board.queued("watching")).toBe(0);

  offer(11);
  const waiting = board.take("watching")!;
  board.wait(waiting);
  expect([board.running("watching"), board.completed]).toEqual([0, 0]);
  offer(12);
  handledBeside(11);
  expect(board.size).toBe(1);
  board.runAfterAll(waiting);
  expect(board.take("watching")).toBe(waiting);
  expect(waiting.timestamp).toBe(12);
});

test("it does not end a task that has begun, or that is due again", () => {
  const { board, offer, handledBeside } = boardOfOne();
  const task = board.take("watching")!;
  handledBeside(10);
  expect([board.size, board.running("watching")]).toEqual([1, 1]);
  offer(12);
  board.wait(task);
  handledBeside(11);
  expect(board.size).toBe(1);
  handledBeside(12);
  expect([board.size, board.running("watching")]).toEqual([0, 0]);
});

test("a task that waits for another one ends its turn on a row", () => {
  const { board } = boardOfOne();
  const task = board.take("watching")!;
  turns.wait(row, (end) => {
    task.endTurn = end;
  });
  expect(turns.size).toBe(1);
  board.wait(task);
  expect(turns.size).toBe(0);
});

test("another process's claim lets a task wait on, without its claim", () => {
  const { board } = boardOfOne();
  const task = board.take("watching")!;
  task.isClaimed = true;
  board.wait(task);
  board.withdraw(task);
  expect([board.size, task.isClaimed]).toEqual([1, false]);
});

test.each([
  { companies: [Infinity, Infinity, Infinity, Infinity], taken: 4, left: 0 },
  // The third task takes part in runs of at most three.
  { companies: [Infinity, 3, Infinity, Infinity], taken: 2, left: 2 },
  // It would be the fourth of the run.
  { companies: [Infinity, Infinity, 3, Infinity], taken: 2, left: 2 },
  { companies: [1, Infinity, Infinity, Infinity], taken: 0, left: 4 },
])("a run takes along no more tasks than each of them allows: $companies", ({ companies, taken, left }) => {
  const { board } = boardOfOne();
  const leader = board.take("watching")!;
  for (const [index, company] of companies.entries()) {
    const other = { ...cell, row: Buffer.from(`b${index}`) };
    const at = { timestamp: 10, state: undefined, takenBy: undefined };
    board.offer({ observer: watching, cell: other, hint: other, ...at });
    board.taskOf("watching", other)!.company = company;
  }
  const along = board.takeAlong(leader, 10, () => true);
  expect([along.length, board.queued("watching")]).toEqual([taken, left]);
  for (const task of along) board.runAfterAll(task);
  expect(board.queued("watching")).toBe(4);
});

test("a run takes tasks along up to the first that may not join", () => {
  const { board } = boardOfOne();
  const leader = board.take("watching")!;
  for (const row of ["b", "c", "d"]) {
    const other = { ...cell, row: Buffer.from(row) };
    board.offer({
      observer: watching,
      cell: other,
      hint: other,
      timestamp: 10,
      state: undefined,
      takenBy: 0,
    });
  }
  const along = board.takeAlong(leader, 10, ({ cell: { row } }) => Buffer.from(row).toString() !== "c");
  expect(along.map(({ cell: { row } }) => Buffer.from(row).toString())).toEqual(["b"]);
  expect(board.take("watching")!.cell.row.toString()).toBe("c");
});

/** Offers a change of another row. With a wait, it may not run yet. */
function offerRow(board: TaskBoard, row: string, waitMs = 0) {
  const other = { ...cell, row: Buffer.from(row) };
  const state = { attempts: 1, notBefore: systemEnvironment.now() + waitMs };
  return board.offer({ observer: watching, cell: other, hint: other, timestamp: 10, state, takenBy: 0 });
}

test("only queued tasks are let go: a run that has begun keeps its task", () => {
  const { board } = boardOfOne();
  const running = board.take("watching")!;
  offerRow(board, "b");
  board.letGo(() => false);
  expect([board.size, board.queued("watching"), board.running("watching")]).toEqual([1, 0, 1]);
  expect(board.taskOf("watching", cell)).toBe(running);
  board.done(running, 10);
  expect([board.size, board.running("watching"), board.isQuiet]).toEqual([0, 0, true]);
});

test("at most 10,000 tasks of an observer wait for their time in memory", () => {
  const { board } = boardOfOne();
  for (let row = 0; row < 10_000; row++) expect(offerRow(board, `${row}`, 60_000)).toBe("taken");
  expect(offerRow(board, "one more", 60_000)).toBe("waits");
  expect(offerRow(board, "due")).toBe("taken");
  expect(board.size).toBe(10_002);
  board.drop("watching");
  expect(board.size).toBe(0);
});

test("the workers are woken when fewer deletions of hints are under way than stop them", async () => {
  const { board } = boardOfOne();
  let settle = () => {};
  const first = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const rest = new Promise<void>(() => {});
  board.done(board.take("watching")!, 10, first);
  for (let row = 1; row < 1_024; row++) {
    offerRow(board, `${row}`);
    expect(board.isCongested).toBe(false);
    board.done(board.take("watching")!, 10, rest);
  }
  expect(board.isCongested).toBe(true);
  let woken = 0;
  board.onReady(() => woken++);
  settle();
  await first;
  await Promise.resolve();
  expect([board.isCongested, woken]).toEqual([false, 1]);
});
