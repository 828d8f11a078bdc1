import { expect, test } from "vitest";
import { parseMachineTime } from "./machine.js";

test("the machine's time is read from the first line, without counting the time of guests twice", () => {
  const stat = "cpu  100 20 30 400 50 1 2 3 40 5\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 7\n";
  const { busy, all } = parseMachineTime(stat);
  expect(busy).toBeCloseTo(1.56);
  expect(all).toBeCloseTo(6.06);
});
