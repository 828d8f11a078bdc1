/** Memory of a database under constant updates: `npm run memory -- --help`. */
import { askOnce } from "../harness/child.js";
import { type CommonOptions, runProgram, whole, withFolder } from "../harness/program.js";
import { describeMemory, type Found, type MemoryResult, trendsOf } from "./figure.js";
import type { MemoryTask } from "./process.js";

type Options = CommonOptions & Omit<MemoryTask, "folder">;

await runProgram<Options, MemoryResult>({
  name: "memory",
  about:
    "Memory of a process that keeps a database under constant updates, with an observer and collection running: sampled each second.",
  examples: ["memory", "memory -- --seconds 600 --rate 2000 --json memory.json"],
  wrongIf: "an update is lost, an observer missed one or a check finds a problem",
  define: (command) =>
    command
      .option("--seconds <number>", "seconds that are sampled", whole, 60)
      .option(
        "--warm-up <number>",
        "seconds before them, until caches are filled and the retention is reached",
        whole,
        15,
      )
      .option("--rows <number>", "rows that are updated, over and over", whole, 10_000)
      .option("--bytes <number>", "bytes of a value", whole, 500)
      .option("--rate <number>", "updates a second", whole, 1_000)
      .option("--retention <number>", "seconds for which old versions are kept", whole, 5),
  measure: ({ json: _, data, args: __, ...options }) =>
    withFolder(
      "memory",
      async (folder) => {
        const task: MemoryTask = { ...options, folder };
        const script = new URL("./process.ts", import.meta.url);
        const found = await askOnce<Found>(script, "The measured process", "measure", task);
        const last = found.samples.at(-1)!;
        return { options, perSecond: last.updates / last.at, trends: trendsOf(found.samples), ...found };
      },
      data,
    ),
  describe: describeMemory,
  isRight: ({ wrong, problems }) => wrong === 0 && problems === 0,
});
