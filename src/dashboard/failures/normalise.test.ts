import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { normalise } from "./normalise.js";

describe("messages of one kind become equal", () => {
  test.each([
    [
      'Order 17 of "oslo" was refused',
      'Order 9 of "the \\"old\\" town" was refused',
      'Order # of "…" was refused',
    ],
    ["row page-07 is gone", "row page-19 is gone", "row page-# is gone"],
    ["no user 'ada'", "no user 'bob and eve'", 'no user "…"'],
    ["no table `a`", "no table `b c`", 'no table "…"'],
    [
      "request 3f2504e0-4f89-11d3-9a0c-0305e82c3301 failed",
      "request 00000000-0000-4000-8000-000000000000 failed",
      "request # failed",
    ],
    ["at 0x7ffe", "at 0xA", "at #"],
    ["hash deadbeef01 differs", "hash 0123456789abcdef differs", "hash # differs"],
    ["id 01J8ZQ5M2NXYZ is taken", "id a8Xk3Pq9Zt is taken", "id # is taken"],
    ["took 1,204.5 ms at 10:04:11", "took 3 ms at 09:00:00", "took # ms at #"],
    ["rows 1, 2, 3 are locked", "rows 7,8 are locked", "rows # are locked"],
    ["two\n  lines", "two lines", "two lines"],
  ])("%j and %j", (one, other, both) => {
    expect([normalise(one), normalise(other)]).toEqual([both, both]);
  });
});

test("words stay as they are", () => {
  const text = "The server can't be reached and it isn't defaced: facade, utf, beaded";
  expect(normalise(text)).toBe(text);
  expect(normalise("invalid utf8")).toBe("invalid utf#");
});

test("messages of different kinds stay different", () => {
  expect(normalise("connect ECONNREFUSED 10.0.0.1:80")).not.toBe(normalise("connect ETIMEDOUT 10.0.0.1:80"));
});

test("any text has a short kind, and normalising again changes nothing but the cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 5_000 }), (message) => {
      const kind = normalise(message);
      expect(kind.length).toBeLessThanOrEqual(301);
    }),
  );
});

test("hostile messages take little time", () => {
  for (const part of ["'", '"\\', "0x", "a1", "1,", "#, ", "`", "a", "1:"]) {
    const begun = process.cpuUsage();
    normalise(part.repeat(100_000));
    const { user, system } = process.cpuUsage(begun);
    expect([part, user + system < 200_000]).toEqual([part, true]);
  }
});
