import { describe, expect, test } from "vitest";
import { explore } from "../../src/testing/exploration/index.js";
import { allPrograms } from "./jobs.js";
import { largerBudgets, partlyExplored } from "./larger.js";

/**
 * `npm run explore` explores each program completely. Here the number of states is limited by the
 * time for a test.
 */
const maxStates = Number(process.env.PERCOLATOR_STATES ?? 80);

describe("explorations", () => {
  test.each([...allPrograms()])("%s is sound", async (_, program) => {
    const report = await explore(program, { maxStates });
    expect(report.violation).toBeUndefined();
    expect(report.complete || report.states >= maxStates).toBe(true);
    expect(report.ends).toBeGreaterThan(0);
  });

  test("names are unique, and larger budgets belong to existing programs", () => {
    const programs = allPrograms();
    const names = [...programs.values()].map((program) => program.name);
    expect(new Set(names).size).toBe(names.length);
    const named = [...Object.keys(largerBudgets), ...partlyExplored.keys()];
    expect(named.filter((key) => !programs.has(key))).toEqual([]);
  });
});
