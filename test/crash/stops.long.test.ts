import type { StepName } from "percolatordb/testing";
import { expect, test } from "vitest";
import { newTally, type Plan } from "./life.js";
import { playLife } from "./lives.js";

const stopped = (
  step: StepName,
  when: "before" | "after",
  afterwards: "continue" | "kill",
  commit: Plan["commit"] = "two-phase",
): Plan => ({
  commit,
  roles: ["observe"],
  fault: { type: "failpoint", failpoint: { step, when, occurrence: 20, signal: "SIGSTOP" }, afterwards },
  renews: false,
  isCrowded: false,
});

test("a process that is stopped within a commit blocks no other process, and does no harm when it is resumed or killed", async () => {
  const tally = newTally();
  await Promise.all([
    playLife(
      "stops:continued",
      [
        stopped("prewrite", "after", "continue"),
        stopped("commit-primary", "before", "continue"),
        stopped("one-phase-commit", "before", "continue", "auto"),
      ],
      tally,
    ),
    playLife(
      "stops:killed",
      [
        stopped("hints", "after", "kill"),
        stopped("commit-primary", "after", "kill"),
        {
          ...stopped("prewrite", "before", "kill"),
          fault: { type: "stop", afterMs: 150, afterwards: "continue" },
        },
      ],
      tally,
    ),
  ]);
  expect(tally.rounds).toBe(6);
  expect(tally.stops).toBe(6);
}, 300_000);
