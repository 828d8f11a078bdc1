import { expect, test } from "vitest";
import { kinds } from "./short-history.js";

test.each([
  {
    name: "one after the other",
    found: [],
    text: `0 + [:w 1 1] [:r 1 nil]
             0 ok [:w 1 1] [:r 1 1]
             1 + [:r 1 nil] [:w 1 2]
             1 ok [:r 1 1] [:w 1 2]
             0 + [:r 1 nil]
             0 ok [:r 1 2]`,
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
    name: "an unknown outcome that was committed late",
    found: [],
    text: `0 + [:w 1 1]
             0 info
             1 + [:r 1 nil]
             1 ok [:r 1 nil]
             1 + [:r 1 nil]
             1 ok [:r 1 1]`,
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
    name: "G1b",
    found: ["G-single-item", "G1b"],
    text: `0 + [:w 1 1] [:w 1 2]
             1 + [:r 1 nil]
             0 ok
             1 ok [:r 1 1]`,
  },
  {
    name: "G1c",
    found: ["G1c"],
    text: `0 + [:w 1 1] [:r 2 nil]
             1 + [:w 2 1] [:r 1 nil]
             0 ok [:w 1 1] [:r 2 1]
             1 ok [:w 2 1] [:r 1 1]`,
  },
  {
    name: "read skew",
    found: ["G-single-item"],
    text: `0 + [:w 1 1] [:w 2 1]
             1 + [:r 1 nil] [:r 2 nil]
             0 ok
             1 ok [:r 1 nil] [:r 2 1]`,
  },
  {
    name: "a long fork",
    found: ["G-nonadjacent-item"],
    text: `0 + [:w 1 1]
             1 + [:w 2 1]
             2 + [:r 1 nil] [:r 2 nil]
             3 + [:r 1 nil] [:r 2 nil]
             0 ok
             1 ok
             2 ok [:r 1 1] [:r 2 nil]
             3 ok [:r 1 nil] [:r 2 1]`,
  },
  {
    name: "write skew",
    found: ["G2-item"],
    text: `0 + [:r 1 nil] [:w 2 1]
             1 + [:r 2 nil] [:w 1 1]
             0 ok [:r 1 nil] [:w 2 1]
             1 ok [:r 2 nil] [:w 1 1]`,
  },
  {
    name: "a lost update",
    found: ["G2-item", "lost-update"],
    text: `0 + [:r 1 nil] [:w 1 1]
             1 + [:r 1 nil] [:w 1 2]
             0 ok [:r 1 nil] [:w 1 1]
             1 ok [:r 1 nil] [:w 1 2]`,
  },
  {
    name: "a stale read of nothing",
    found: ["G-single-item-realtime", "cyclic-versions-realtime"],
    text: `0 + [:w 1 1]
             0 ok
             1 + [:r 1 nil]
             1 ok [:r 1 nil]`,
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
  {
    name: "a value of nobody",
    found: ["garbage"],
    text: `0 + [:r 1 nil] [:w 2 1]
             0 ok [:r 1 9] [:w 2 1]`,
  },
  {
    name: "a read that misses an own write",
    found: ["internal"],
    text: `0 + [:w 1 1] [:r 1 nil]
             0 ok [:w 1 1] [:r 1 nil]`,
  },
])("rw-register: $name", ({ found, text }) => expect(kinds(text)).toEqual(found));
