import { expect, test } from "vitest";
import { isBeyondBelief } from "./expiry.js";

const hourMs = 3_600_000;
const longestMs = 5_000;
const nowMs = Date.UTC(2030, 0);

test.each([
  ["that has passed", -1, false],
  ["of a clock that agrees", longestMs, false],
  ["of a clock an hour ahead", longestMs + hourMs, false],
  ["of a clock more than an hour ahead", longestMs + hourMs + 1, true],
  ["of a clock a day ahead", longestMs + 24 * hourMs, true],
])("an expiry %s", (_, inMs, expected) => {
  expect(isBeyondBelief(nowMs + inMs, longestMs, nowMs)).toBe(expected);
});
