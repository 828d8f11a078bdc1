import { describe, expect, test } from "vitest";
import { explore } from "../../src/testing/exploration/index.js";
import { allPrograms } from "./jobs.js";
import { largerBudgets } from "./larger.js";

/** `npm run explore` tries everything of each; here, as many states as a test has time for. */
const maxStates = Number(process.env.PERCOLATOR_STATES ?? 300);

describe("explorations", () => {
  test.each([...allPrograms()])("%s is sound", async (_, program) => {
    const report = await explore(program, { maxStates });
    expect(report.violation).toBeUndefined();
    expect(report.complete || report.states >= maxStates).toBe(true);
    expect(report.ends).toBeGreaterThan(0);
  });

  test("names are given once, and larger budgets are of programs that there are", () => {
    const programs = allPrograms();
    const names = [...programs.values()].map((program) => program.name);
    expect(new Set(names).size).toBe(names.length);
    expect(Object.keys(largerBudgets).filter((key) => !programs.has(key))).toEqual([]);
  });
});
