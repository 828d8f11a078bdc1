/** Measures percolatordb and the stores beneath it, case by case: `npm run bench -- --help`. */
import {
  atLeast,
  oneOf,
  repeated,
  runProgram,
  say,
  sayProgress,
  whole,
  withFolder,
} from "../harness/program.js";
import { Bench, type BenchCase, type BenchOptions, type BenchResult, type CaseResult } from "./bench.js";
import { bigtable } from "./bigtable.js";
import { client } from "./client.js";
import { collection } from "./collection.js";
import { delay } from "./delay.js";
import { derived } from "./derived.js";
import { feeds } from "./feeds.js";
import { comparisonTable, figureTable } from "./figures.js";
import { cellTables, postgresTables } from "./floors.js";
import { hot } from "./hot.js";
import { importing } from "./import.js";
import { live } from "./live.js";
import { notifications } from "./notifications.js";
import { oracle } from "./oracle.js";
import { postgres } from "./postgres.js";
import { reads } from "./reads.js";
import { scans } from "./scans.js";
import { transactions } from "./transactions.js";
import { wire } from "./wire.js";

const cases: readonly BenchCase[] = [
  reads,
  scans,
  transactions,
  delay,
  notifications,
  collection,
  bigtable,
  postgres,
  client,
  hot,
  wire,
  oracle,
  importing,
  derived,
  feeds,
  live,
];

/** The defaults of a full run, and of `--quick`. */
const sizes = { full: { cells: 100_000, rounds: 15 }, quick: { cells: 20_000, rounds: 3 } };

await runProgram<BenchOptions, BenchResult>({
  name: "bench",
  about: `Measures percolatordb beside the store beneath it, used directly, in the same run.\n\nCases:\n${cases
    .map(({ name, about }) => `  ${name.padEnd(15)}${about}`)
    .join("\n")}`,
  examples: [
    "bench",
    "bench -- --quick --only reads --only scans",
    "bench -- --cells 1000000 --rounds 31 --json results.json",
  ],
  wrongIf: "a case fails to run or gives a wrong result",
  define: (command) =>
    command
      .option(
        "--only <name>",
        "run this case only; may be repeated",
        repeated(oneOf(cases.map(({ name }) => name))),
        [],
      )
      .option("--quick", "fewer cells and rounds: a minute, and rougher figures", false)
      .option("--cells <n>", `cells of a table (default: ${sizes.full.cells})`, atLeast(2_000))
      .option("--rounds <n>", `rounds of each measurement (default: ${sizes.full.rounds})`, whole)
      .option("--source <path>", "web archive or folder for the case wire (default: a made-up site)"),
  complete: (options) => ({ ...(options.quick ? sizes.quick : sizes.full), ...options }),
  async measure(options) {
    const found: Record<string, CaseResult | { readonly error: string }> = {};
    for (const each of cases) {
      if (options.only.length > 0 && !options.only.includes(each.name)) continue;
      try {
        found[each.name] = await withFolder(
          "bench",
          (folder) => each.run(new Bench(options, folder)),
          options.data,
        );
      } catch (error) {
        sayProgress("");
        say(`${each.name} failed: ${error instanceof Error ? error.stack : String(error)}`);
        found[each.name] = { error: String(error) };
      }
    }
    return { cases: found };
  },
  describe: ({ cases: found }) =>
    Object.entries(found).flatMap(([name, result]) =>
      "error" in result
        ? [`${name}: ${result.error}`]
        : [
            `${name}: ${cases.find((each) => each.name === name)!.about}`,
            ...(result.configuration === undefined ? [] : [result.configuration]),
            ...(result.comparisons.length === 0 ? [] : [comparisonTable(result.comparisons)]),
            ...cellTables(result.comparisons),
            ...postgresTables(result.comparisons),
            ...(result.figures.length === 0 ? [] : [figureTable(result.figures)]),
          ],
    ),
  isRight: ({ cases: found }) => Object.values(found).every((each) => !("error" in each)),
});
