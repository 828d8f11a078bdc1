/** Benchmarks that others publish: `npm run published -- --help`. */
import { join } from "node:path";
import {
  atLeast,
  type CommonOptions,
  oneOf,
  repeated,
  runProgram,
  whole,
  withFolder,
} from "../harness/program.js";
import { describePublished, isRightPublished, type Part, type PublishedResult, parts } from "./figure.js";
import { measureKeys } from "./keys.js";
import { measureNexmark } from "./nexmark/run.js";
import { measureYcsb } from "./ycsb.js";

interface Options extends CommonOptions {
  readonly only?: readonly Part[] | undefined;
  readonly rows: number;
  readonly records: number;
  readonly events: number;
  readonly seconds: number;
  readonly seed: number;
}

await runProgram<Options, PublishedResult>({
  name: "published",
  about:
    "FoundationDB's single-core tests, YCSB's workloads A, B, C and F, and Nexmark's queries 1 to 8 as observers.",
  examples: [
    "published",
    "published -- --only keys --rows 1000000 --seconds 20",
    "published -- --only nexmark --json nexmark.json",
  ],
  wrongIf: "a row does not hold its last commit, or an answer differs from its batch twin's",
  define: (command) =>
    command
      .option("--only <part>", `${parts.join(", ")}; may be repeated (default: all)`, repeated(oneOf(parts)))
      .option("--rows <number>", "rows of FoundationDB's tests", atLeast(1_000), 100_000)
      .option("--records <number>", "records of YCSB", whole, 20_000)
      .option("--seconds <number>", "seconds of each test and workload", whole, 5)
      .option("--events <number>", "events of Nexmark", whole, 20_000)
      .option("--seed <number>", "the seed of Nexmark's events", whole, 1),
  measure: ({ data, only = parts, rows, records, events, seconds, seed }) =>
    withFolder(
      "published",
      async (folder) => ({
        keys: only.includes("keys") ? await measureKeys(join(folder, "keys"), { rows, seconds }) : undefined,
        ycsb: only.includes("ycsb")
          ? await measureYcsb(join(folder, "ycsb"), { records, seconds })
          : undefined,
        nexmark: only.includes("nexmark") ? await measureNexmark(folder, { events, seed }) : undefined,
      }),
      data,
    ),
  describe: describePublished,
  isRight: isRightPublished,
});
