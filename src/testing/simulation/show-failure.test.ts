import { expect, it } from "vitest";
import { showFailure } from "./show-failure.js";

it.each([
  [500, "event 1", 0],
  [26_000, "event 25501", 25_500],
])("shows the last events of a run with %i", (count, first, hidden) => {
  const trace = Array.from({ length: count }, (_, index) => `event ${index + 1}`);
  const shortened = { message: "too late", steps: [], incidents: [], faults: [], trace };
  const lines = showFailure({ seed: "s", run: 1, message: "too late", shortened }).split("\n");
  expect(lines.slice(-500)[0]).toBe(first);
  expect(lines.at(-1)).toBe(`event ${count}`);
  expect(lines.length).toBeLessThan(510);
  expect(lines.some((line) => line.startsWith(`(${hidden} earlier events`))).toBe(hidden > 0);
});
