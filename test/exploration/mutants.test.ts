import { describe, expect, test } from "vitest";
import { mutatedFiles } from "./mutants/build.js";
import { mutants } from "./mutants/index.js";
import { exploreMutant } from "./mutants/run.js";

/** `npm run explore` kills all mutants. */
const tried = mutants.filter(({ takesLong }) => process.env.PERCOLATOR_MUTANTS === "all" || !takesLong);

describe("mutants", () => {
  test.each(tried)("$killedBy finds: $name", async (mutant) => {
    const { violation } = await exploreMutant(mutant);
    expect(violation?.message).toEqual(expect.any(String));
    // The steps to the violation, in words.
    expect(violation!.trace.length).toBeGreaterThan(0);
  });

  test.each(mutants)("there is one place for: $name", async (mutant) => {
    const changed = await mutatedFiles(mutant);
    expect(changed.size).toBeGreaterThan(0);
  });

  test("each guard is removed by one mutant of its name", () => {
    const names = mutants.map((mutant) => mutant.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(55);
    expect(tried.length).toBeGreaterThanOrEqual(20);
  });
});
