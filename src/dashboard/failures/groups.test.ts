import { expect, test } from "vitest";
import type { PendingChange } from "../../observer/index.js";
import {
  errorText,
  FailureGroups,
  groupOf,
  isMeant,
  maxGroups,
  maxNewest,
  observerOfGroup,
} from "./groups.js";
import { failingOf } from "./retrying.js";

const failure = (message: string, seconds: number, observer = "review") => ({
  observer,
  parkedAt: new Date(seconds * 1_000),
  error: { name: "RangeError", message },
});

test("failures are grouped by observer and kind, newest group first", () => {
  const groups = new FailureGroups<ReturnType<typeof failure>>(({ parkedAt }) => parkedAt);
  const all = [
    failure("Order 1 failed", 5),
    failure("Order 22 failed", 3),
    failure("Order 333 failed", 9),
    failure("Nothing works", 7),
    failure("Order 1 failed", 11, "approve"),
  ];
  for (const each of all) groups.add(each);
  expect(groups.list()).toMatchObject([
    { observer: "approve", count: 1 },
    {
      observer: "review",
      message: "RangeError: Order # failed",
      count: 3,
      firstAt: new Date(3_000),
      lastAt: new Date(9_000),
    },
    { message: "RangeError: Nothing works", count: 1 },
  ]);
  const [, orders] = groups.list();
  expect(orders!.newest.map(({ parkedAt }) => parkedAt.getTime())).toEqual([9_000, 5_000, 3_000]);
  expect(all.map(groupOf).filter((id) => id === orders!.id)).toHaveLength(3);
  expect(observerOfGroup(orders!.id)).toBe("review");
});

test("memory is bounded: groups, and failures of a group", () => {
  const groups = new FailureGroups<ReturnType<typeof failure>>(({ parkedAt }) => parkedAt);
  for (let at = 0; at < 100; at++) groups.add(failure(`Order ${at} failed`, at));
  const words = Array.from({ length: 300 }, (_, index) =>
    [...String(index)].map((digit) => "abcdefghij"[Number(digit)]).join(""),
  );
  for (const word of words) groups.add(failure(`It is ${word}`, 1));
  expect(groups.list()).toHaveLength(maxGroups);
  expect(groups.others).toBe(300 - (maxGroups - 1));
  const newest = groups.list()[0]!.newest.map(({ parkedAt }) => parkedAt.getTime() / 1_000);
  expect(newest).toEqual(Array.from({ length: maxNewest }, (_, index) => 99 - index));
});

test("a filter means a group, or a part of the error in any case", () => {
  const one = failure('Order 17 of "Oslo" failed', 1);
  expect(isMeant(one, {})).toBe(true);
  for (const text of ["order 17", "OSLO", "order # of", "rangeerror: order"])
    expect(isMeant(one, { text })).toBe(true);
  expect(isMeant(one, { text: "order 18" })).toBe(false);
  expect(isMeant(one, { group: groupOf(failure('Order 2 of "Rome" failed', 9)) })).toBe(true);
  expect(isMeant(one, { group: groupOf(failure("Order 2 failed", 9)) })).toBe(false);
  expect(isMeant(one, { group: groupOf(failure('Order 17 of "Oslo" failed', 1, "approve")) })).toBe(false);
});

test("an error without a message is called by its name, parked or not", () => {
  const failing = (lastError: string) => failingOf({ observer: "review", lastError } as PendingChange)!;
  expect(errorText(failing("The process ended while this change was due."))).toBe(
    "The process ended while this change was due.",
  );
  expect(failing("RangeError: Order 1: refused").error).toEqual({
    name: "RangeError",
    message: "Order 1: refused",
  });
  expect(groupOf(failing("RangeError: "))).toBe(groupOf(failure("", 1)));
  expect(groupOf(failing("RangeError: Order 7 failed"))).toBe(groupOf(failure("Order 8 failed", 1)));
  const dueWhile = (crashes: number) => failingOf({ observer: "review", crashes } as PendingChange);
  expect(dueWhile(0)).toBeUndefined();
  // A process may have ended for any reason. If it happens again, the change may be the reason.
  expect(dueWhile(1)).toBeUndefined();
  expect(dueWhile(2)?.error.name).toContain("ended while this change was due");
});
