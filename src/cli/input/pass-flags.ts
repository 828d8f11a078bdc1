import type { Command } from "commander";
import type { PassOptions } from "../../evolution/index.js";
import type { Cli } from "../cli.js";
import { parsedBy } from "../command.js";
import { counted } from "../print/layout.js";
import { Progress } from "../print/progress.js";
import { UsageError } from "../usage-error.js";

/** The options of commands that pass through tables. */
export interface PassFlags {
  readonly rate?: number | undefined;
}

/** Adds `--rate`. */
export function addPassFlags(command: Command): Command {
  return command.option(
    "--rate <cells>",
    "most cells to change in a second; default: as many as the store takes",
    parsedBy(parseRate),
  );
}

function parseRate(text: string): number {
  const rate = Number(text);
  if (text.trim() !== "" && Number.isFinite(rate) && rate > 0) return rate;
  throw new UsageError(`The rate must be a number of cells above 0, not ${JSON.stringify(text)}.`);
}

/** Runs a pass through tables, and shows its progress. `done` is what happens to cells: "rewritten". */
export async function withPass<T>(
  cli: Cli,
  { rate }: PassFlags,
  done: string,
  run: (options: PassOptions, progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = new Progress(cli);
  const begun = new Map<string, number>();
  const onProgress: PassOptions["onProgress"] = ({ table, scanned, changed, share }) => {
    const before = begun.get(table) ?? scanned;
    begun.set(table, before);
    progress.show(
      () =>
        `${table}: ${counted(changed, "cell")} ${done} of ${scanned}, ${progress.rate(scanned - before)}${progress.left(share)}`,
    );
  };
  return run({ rate, signal: cli.signal, onProgress }, progress).finally(() => progress.end());
}
