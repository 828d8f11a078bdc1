import { describe, expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../test/support/distant-store.js";
import { int, table } from "../schema/index.js";
import { StepHooks } from "../testing/index.js";
import { BackgroundWork } from "./background.js";
import type { TransactionContext } from "./context.js";
import { listLocks } from "./maintenance/inspect.js";
import { transact } from "./transact.js";

/** Requests that the test settles. */
function openRequests() {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const request = (number: number) => () => {
    begun.push(number);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  return { begun, ends, request };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("background requests", () => {
  test("are sent together: those of one tick, and those that arrive while many are running", async () => {
    const background = new BackgroundWork();
    const { begun, ends, request } = openRequests();
    const first = Array.from({ length: 40 }, (_, number) => background.send(request(number)));
    await turn();
    expect(begun.length).toBe(40);
    const second = Array.from({ length: 5 }, (_, number) => background.send(request(40 + number)));
    for (let ended = 0; ended < 7; ended++) ends[ended]!();
    await turn();
    expect(begun.length).toBe(40);
    const third = background.send(request(45));
    ends[7]!();
    await turn();
    expect(begun).toEqual(Array.from({ length: 46 }, (_, number) => number));
    for (const end of ends) end();
    await Promise.all([...first, ...second, third]);
  });

  test("are not delayed by a few that get no answer", async () => {
    const background = new BackgroundWork();
    const { ends, request } = openRequests();
    const stalled = Array.from({ length: 32 }, (_, number) => background.send(request(number)));
    await turn();
    for (let round = 0; round < 10; round++) expect(await background.send(async () => round)).toBe(round);
    for (const end of ends) end();
    await Promise.all(stalled);
  });

  test("are at most 1,024 at a time, and failed ones free their place too", async () => {
    const background = new BackgroundWork();
    let underWay = 0;
    let most = 0;
    const answers = await Promise.allSettled(
      Array.from({ length: 5_000 }, (_, number) =>
        background.send(async () => {
          most = Math.max(most, ++underWay);
          await turn();
          underWay--;
          if (number % 2 === 0) throw new Error("no");
        }),
      ),
    );
    expect(most).toBe(1_024);
    expect(answers.filter(({ status }) => status === "rejected").length).toBe(2_500);
  });

  test("delay the caller that adds more, once too many wait", async () => {
    const background = new BackgroundWork();
    const { ends, request } = openRequests();
    const all = Array.from({ length: 1_024 + 16_384 }, (_, number) => background.send(request(number)));
    await turn();
    const room = background.room();
    expect(room).toBeInstanceOf(Promise);
    for (const end of ends.splice(0)) end();
    await room;
    expect(background.room()).toBeUndefined();
    let isOver = false;
    void Promise.all(all).then(() => {
      isOver = true;
    });
    while (!isOver) {
      for (const end of ends.splice(0)) end();
      await turn();
    }
  });
});

test("a commit is answered at its commit point, and close waits for its secondaries", async () => {
  const hooks = new StepHooks();
  const context = distantContext(new DistantTestStore(), hooks);
  const accounts = table("accounts", { balance: int() });
  const pause = hooks.pauseBefore("commit-secondary");
  await transact(context, (tx) => {
    for (const row of ["a", "b", "c"]) tx.set(accounts.balance, row, 1);
  });
  await pause.reached;
  let isSettled = false;
  const settling = context.background.settled().then(() => {
    isSettled = true;
  });
  for (let turns = 0; turns < 10; turns++) await turn();
  expect(isSettled).toBe(false);
  expect(await locksOf(context)).toEqual(["b"]);
  pause.resume();
  await settling;
  expect(await locksOf(context)).toEqual([]);
});

async function locksOf(context: TransactionContext): Promise<string[]> {
  const rows: string[] = [];
  for await (const { cell } of listLocks(context, ["accounts"])) rows.push(`${cell.row}`);
  return rows;
}
