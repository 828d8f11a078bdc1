import type { TableVerdict } from "../../examples/webindex/twin/compare.js";

/** How an index compares with its twin. */
export interface Verdict {
  readonly cells: number;
  /** Cells that differ, are missing or are left over. */
  readonly wrong: number;
  /** The first of them, and whatever else is wrong, a sentence each. */
  readonly problems: readonly string[];
}

export function describeVerdicts(tables: readonly TableVerdict[], problems: readonly string[] = []): Verdict {
  const sum = (of: (each: TableVerdict) => number) => tables.reduce((all, each) => all + of(each), 0);
  return {
    cells: sum(({ cells }) => cells),
    wrong: sum(({ different }) => different) + problems.length,
    problems: [...problems, ...tables.flatMap(({ differences }) => differences)],
  };
}
