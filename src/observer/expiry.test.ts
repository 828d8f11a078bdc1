import { expect, test } from "vitest";
import { isBeyondBelief } from "./expiry.js";

const hourMs = 3_600_000;
const maxMs = 5_000;
const nowMs = Date.UTC(2030, 0);

test.each([
  ["that has passed", -1, false],
  ["of a clock that agrees", maxMs, false],
  ["of a clock an hour ahead", maxMs + hourMs, false],
  ["of a clock more than an hour ahead", maxMs + hourMs + 1, true],
  ["of a clock a day ahead", maxMs + 24 * hourMs, true],
])("an expiry %s", (_, inMs, expected) => {
  expect(isBeyondBelief(nowMs + inMs, maxMs, nowMs)).toBe(expected);
});
