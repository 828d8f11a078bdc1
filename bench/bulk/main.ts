/** A bulk load beside transactions and observers: `npm run bulk -- --help`. */
import { join } from "node:path";
import { askOnce } from "../harness/child.js";
import { type CommonOptions, runProgram, sayProgress, whole, withFolder } from "../harness/program.js";
import { type BulkResult, describeBulk, isRightBulk } from "./figure.js";
import type { Found, Side, Task } from "./process.js";
import type { Shape } from "./tables.js";

type Options = CommonOptions & Shape & { readonly rounds: number };

const sides: readonly Side[] = ["load", "observers", "transactions"];

await runProgram<Options, BulkResult>({
  name: "bulk",
  about:
    "The rate of a bulk load into empty tables, beside that of transactions and an observer that make the same tables.",
  examples: ["bulk", "bulk -- --rows 1000000 --bytes 2000 --json bulk.json"],
  wrongIf: "a table has a row too few or too many, or a change is left for the observer",
  define: (command) =>
    command
      .option("--rows <number>", "documents", whole, 100_000)
      .option("--bytes <number>", "bytes of a document", whole, 500)
      .option("--rounds <number>", "runs of each side, in turns", whole, 3),
  measure: ({ json: _, data, args: __, ...options }) =>
    withFolder("bulk", (folder) => measure(folder, options), data),
  describe: describeBulk,
  isRight: isRightBulk,
});

async function measure(folder: string, options: Shape & { readonly rounds: number }): Promise<BulkResult> {
  const found: Record<Side, Found[]> = { load: [], observers: [], transactions: [] };
  const script = new URL("./process.ts", import.meta.url);
  for (let round = 1; round <= options.rounds; round++) {
    for (const side of sides) {
      sayProgress(`round ${round} of ${options.rounds}: ${side}`);
      const task: Task = { ...options, side, folder: join(folder, `${side}-${round}`) };
      found[side].push(await askOnce<Found>(script, "The measured process", "measure", task));
    }
  }
  return { options, sides: found };
}
