import { expect, test } from "vitest";
import type { ProcessUse } from "../scaling/usage.js";
import type { Done } from "./messages.js";
import { describeFigure, describeRound, figureOf, isRight, roundOf } from "./report.js";

const use: ProcessUse = { seconds: 2, userSeconds: 1, systemSeconds: 0.5, loopUtilisation: 0.75 };
const requests = {
  read: 0,
  scan: 0,
  conditionalMutation: 0,
  plainMutation: 0,
  timestamp: 0,
  total: 0,
  joined: 0,
  perTransaction: 0,
};

function doneOf(customers: number, runs: number, more: Partial<Done> = {}): Done {
  return { customers, runs, commits: customers + runs, conflicts: 0, requests, use, ...more };
}

test("a round counts what all processes did", () => {
  const done = [doneOf(60, 30, { conflicts: 10 }), doneOf(40, 20)];
  const round = roundOf({ seconds: 2, done, othersShare: 0.25 }, []);
  expect(round).toMatchObject({
    seconds: 2,
    customers: 100,
    runs: 50,
    conflictShare: 10 / 160,
    requests: {},
  });
  expect(round.each.map(({ runs }) => runs)).toEqual([30, 20]);
  expect(describeRound(2, round)).toContain("2 processes: 75 transactions/s");
  expect(describeRound(2, round)).toContain("others took 25 % of the machine");
});

test("requests are given for each transaction, those that there were", () => {
  const done = [doneOf(50, 50, { requests: { ...requests, read: 250, timestamp: 100 } })];
  expect(roundOf({ seconds: 1, done, othersShare: undefined }, []).requests).toEqual({
    read: 2.5,
    timestamp: 1,
  });
});

test("only the first of what is wrong is kept", () => {
  const wrong = Array.from({ length: 30 }, (_, index) => `Account ${index}`);
  const round = roundOf({ seconds: 1, done: [doneOf(1, 1)], othersShare: undefined }, wrong);
  expect(round.wrong).toEqual(wrong.slice(0, 10));
  expect(describeRound(1, round)).toContain("WRONG: Account 9");
});

test("one round in which something is wrong makes the whole measurement fail", () => {
  const timed = { seconds: 1, done: [doneOf(1, 1)], othersShare: undefined };
  expect(isRight([roundOf(timed, []), roundOf(timed, [])])).toBe(true);
  expect(isRight([roundOf(timed, []), roundOf(timed, ["Account 1"])])).toBe(false);
});

test("the factor is that of the times for the same work, round by round", () => {
  const roundIn = (seconds: number) =>
    roundOf({ seconds, done: [doneOf(100, 50)], othersShare: undefined }, []);
  const one = [3, 6, 3].map(roundIn);
  const two = [2, 3, 1.5].map(roundIn);
  const figure = figureOf(2, two, one);
  expect(figure.factor.median).toBe(2);
  expect(figure.transactionsPerSecond.median).toBe(75);
  expect(describeFigure(figure)).toContain("2.00 times one");
  expect(describeFigure(figure)).not.toContain("says nothing");
  const disturbed = two.map((round) => ({ ...round, othersShare: 0.5 }));
  expect(describeFigure(figureOf(2, disturbed, one))).toContain("the factor says nothing");
});
