import { expect, test } from "vitest";
import { kinds } from "./short-history.js";

/**
 * The same history with registers: an append becomes a write, and a read returns the last element
 * of its list.
 */
function asRegisters(text: string): string {
  return text.replaceAll(":append", ":w").replaceAll(/\[(?:\d+ )*(\d+)\]/g, "$1");
}

/**
 * Histories with lists. They are also judged with registers, whose order of versions must be
 * inferred.
 */
const ofBoth: readonly {
  readonly name: string;
  readonly found: readonly string[];
  /** Set if the findings differ for registers. */
  readonly ofRegisters?: readonly string[];
  readonly text: string;
}[] = [
  {
    name: "one after the other",
    found: [],
    text: `0 + [:append 1 1] [:r 1 nil]
             0 ok [:append 1 1] [:r 1 [1]]
             1 + [:r 1 nil] [:append 1 2] [:r 1 nil]
             1 ok [:r 1 [1]] [:append 1 2] [:r 1 [1 2]]`,
  },
  {
    name: "an unknown outcome that was committed late",
    found: [],
    text: `0 + [:append 1 1]
             0 info
             1 + [:r 1 nil]
             1 ok [:r 1 nil]
             1 + [:r 1 nil]
             1 ok [:r 1 [1]]`,
  },
  {
    name: "G1b",
    found: ["G-single-item", "G1b"],
    text: `0 + [:append 1 1] [:append 1 2]
             1 + [:r 1 nil]
             0 ok
             1 ok [:r 1 [1]]
             2 + [:r 1 nil]
             2 ok [:r 1 [1 2]]`,
  },
  {
    name: "G1c",
    found: ["G1c"],
    text: `0 + [:append 1 1] [:r 2 nil]
             1 + [:append 2 1] [:r 1 nil]
             0 ok [:append 1 1] [:r 2 [1]]
             1 ok [:append 2 1] [:r 1 [1]]`,
  },
  {
    name: "read skew",
    found: ["G-single-item"],
    text: `0 + [:append 1 1] [:append 2 1]
             1 + [:r 1 nil] [:r 2 nil]
             0 ok
             1 ok [:r 1 nil] [:r 2 [1]]
             2 + [:r 1 nil]
             2 ok [:r 1 [1]]`,
  },
  {
    name: "a long fork",
    found: ["G-nonadjacent-item"],
    text: `0 + [:append 1 1]
             1 + [:append 2 1]
             2 + [:r 1 nil] [:r 2 nil]
             3 + [:r 1 nil] [:r 2 nil]
             0 ok
             1 ok
             2 ok [:r 1 [1]] [:r 2 nil]
             3 ok [:r 1 nil] [:r 2 [1]]`,
  },
  {
    name: "write skew",
    found: ["G2-item"],
    text: `0 + [:r 1 nil] [:append 2 1]
             1 + [:r 2 nil] [:append 1 1]
             0 ok [:r 1 nil] [:append 2 1]
             1 ok [:r 2 nil] [:append 1 1]
             2 + [:r 1 nil] [:r 2 nil]
             2 ok [:r 1 [1]] [:r 2 [1]]`,
  },
  {
    name: "a committed write that is gone",
    found: ["G-single-item-realtime"],
    ofRegisters: ["G-single-item-realtime", "cyclic-versions-realtime"],
    text: `0 + [:append 1 1]
             0 ok
             1 + [:r 1 nil]
             1 ok [:r 1 nil]`,
  },
  {
    name: "a value of nobody",
    found: ["garbage"],
    text: `0 + [:append 1 1]
             1 + [:r 1 nil]
             0 ok
             1 ok [:r 1 [1 9]]`,
  },
  {
    name: "a read that misses an own write",
    found: ["internal"],
    text: `0 + [:append 1 1] [:r 1 nil]
             0 ok [:append 1 1] [:r 1 nil]`,
  },
];

test.each(ofBoth)("list-append: $name", ({ found, text }) => expect(kinds(text)).toEqual(found));

test.each(ofBoth)("rw-register: $name", ({ found, ofRegisters = found, text }) =>
  expect(kinds(asRegisters(text))).toEqual(ofRegisters),
);

test.each([
  {
    name: "a lost update",
    found: ["G-single-item", "G-single-item-realtime", "G2-item", "lost-update"],
    text: `0 + [:r 1 nil] [:append 1 1]
             1 + [:r 1 nil] [:append 1 2]
             0 ok [:r 1 nil] [:append 1 1]
             1 ok [:r 1 nil] [:append 1 2]
             2 + [:r 1 nil]
             2 ok [:r 1 [2]]`,
  },
  {
    name: "at the same time, in any order",
    found: [],
    text: `0 + [:append 1 1]
             1 + [:r 1 nil]
             2 + [:r 1 nil]
             0 ok
             2 ok [:r 1 [1]]
             1 ok [:r 1 nil]`,
  },
  {
    name: "G0",
    found: ["G0"],
    text: `0 + [:append 1 1] [:append 2 1]
             1 + [:append 1 2] [:append 2 2]
             0 ok
             1 ok
             2 + [:r 1 nil] [:r 2 nil]
             2 ok [:r 1 [1 2]] [:r 2 [2 1]]`,
  },
  {
    name: "G1a, and what was appended to it",
    found: ["G1a", "dirty-update"],
    text: `0 + [:append 1 1]
             0 fail
             1 + [:append 1 2]
             1 ok
             2 + [:r 1 nil]
             2 ok [:r 1 [1 2]]`,
  },
  {
    name: "a stale read of another process",
    found: ["G-single-item-realtime"],
    text: `0 + [:append 1 1]
             0 ok
             1 + [:r 1 nil]
             1 ok [:r 1 nil]
             1 + [:r 1 nil]
             1 ok [:r 1 [1]]`,
  },
  {
    name: "a stale read of the same process",
    found: ["G-single-item-process"],
    text: `0 + [:append 1 1]
             0 ok
             0 + [:r 1 nil]
             0 ok [:r 1 nil]
             1 + [:r 1 nil]
             1 ok [:r 1 [1]]`,
  },
  {
    name: "stale beyond a transaction in between, and beyond one that failed",
    found: ["G-single-item-realtime"],
    text: `0 + [:append 1 1]
             0 ok
             1 + [:append 2 1]
             1 fail
             2 + [:append 3 1]
             2 ok
             3 + [:r 1 nil]
             3 ok [:r 1 nil]
             4 + [:r 1 nil]
             4 ok [:r 1 [1]]`,
  },
  {
    name: "writes in another order than in real time",
    found: ["G0-realtime"],
    text: `0 + [:append 1 1]
             0 ok
             1 + [:append 1 2]
             1 ok
             2 + [:r 1 nil]
             2 ok [:r 1 [2 1]]`,
  },
  {
    name: "a read of what begins later",
    found: ["G1c-realtime"],
    text: `0 + [:r 1 nil]
             0 ok [:r 1 [1]]
             1 + [:append 1 1]
             1 ok`,
  },
  {
    name: "a long fork over what had ended",
    found: ["G-nonadjacent-item-realtime"],
    text: `0 + [:append 1 1]
             1 + [:append 2 1]
             3 + [:r 2 nil] [:r 1 nil]
             2 + [:r 1 nil]
             2 ok [:r 1 [1]]
             4 + [:r 2 nil]
             4 ok [:r 2 nil]
             3 ok [:r 2 [1]] [:r 1 nil]
             0 ok
             1 ok`,
  },
  {
    name: "write skew around what had ended before",
    found: ["G2-item-realtime"],
    text: `0 + [:append 1 1] [:r 2 nil]
             1 + [:append 2 1]
             1 ok
             2 + [:r 1 nil]
             2 ok [:r 1 nil]
             0 ok [:append 1 1] [:r 2 nil]
             3 + [:r 1 nil] [:r 2 nil]
             3 ok [:r 1 [1]] [:r 2 [1]]`,
  },
  {
    name: "two orders of one list",
    found: ["incompatible-order"],
    text: `0 + [:append 1 1]
             1 + [:append 1 2]
             0 ok
             1 ok
             2 + [:r 1 nil]
             3 + [:r 1 nil]
             2 ok [:r 1 [1 2]]
             3 ok [:r 1 [2]]`,
  },
  {
    name: "an element twice",
    found: ["G-single-item", "duplicate-elements"],
    text: `0 + [:append 1 1]
             1 + [:r 1 nil]
             0 ok
             1 ok [:r 1 [1 1]]`,
  },
  {
    name: "a read that is not repeatable",
    found: ["internal"],
    text: `0 + [:append 1 1]
             1 + [:r 1 nil] [:r 1 nil]
             0 ok
             1 ok [:r 1 nil] [:r 1 [1]]`,
  },
  {
    name: "a read of an own append that comes later",
    found: ["future-read", "internal"],
    text: `0 + [:r 1 nil] [:append 1 1] [:r 1 nil]
             0 ok [:r 1 [1]] [:append 1 1] [:r 1 [1]]`,
  },
])("list-append: $name", ({ found, text }) => expect(kinds(text)).toEqual(found));

test.each([
  {
    name: "a lost update",
    found: ["G2-item", "lost-update"],
    text: `0 + [:r 1 nil] [:w 1 1]
             1 + [:r 1 nil] [:w 1 2]
             0 ok [:r 1 nil] [:w 1 1]
             1 ok [:r 1 nil] [:w 1 2]`,
  },
  {
    name: "blind writes at the same time, read by others in one order",
    found: [],
    text: `0 + [:w 1 1]
             1 + [:w 1 2]
             2 + [:r 1 nil]
             0 ok
             1 ok
             2 ok [:r 1 2]
             2 + [:r 1 nil]
             2 ok [:r 1 1]`,
  },
  {
    name: "G1a",
    found: ["G1a"],
    text: `0 + [:w 1 1]
             0 fail
             1 + [:r 1 nil]
             1 ok [:r 1 1]`,
  },
  {
    name: "a stale read of what was replaced",
    found: ["G-single-item-realtime", "cyclic-versions-realtime"],
    text: `0 + [:w 1 1]
             0 ok
             0 + [:r 1 nil] [:w 1 2]
             0 ok [:r 1 1] [:w 1 2]
             1 + [:r 1 nil]
             1 ok [:r 1 1]`,
  },
  {
    name: "a blind write that is gone",
    found: ["cyclic-versions-realtime"],
    text: `0 + [:w 1 1]
             0 ok
             0 + [:w 1 2]
             0 ok
             1 + [:r 1 nil]
             1 ok [:r 1 1]`,
  },
  {
    name: "versions in a circle",
    found: ["G1c", "cyclic-versions"],
    text: `0 + [:r 1 nil] [:w 1 1]
             1 + [:r 1 nil] [:w 1 2]
             0 ok [:r 1 2] [:w 1 1]
             1 ok [:r 1 1] [:w 1 2]`,
  },
])("rw-register: $name", ({ found, text }) => expect(kinds(text)).toEqual(found));
