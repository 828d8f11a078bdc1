import type { Command } from "commander";
import { parsedBy } from "../command.js";
import { parseCount } from "../time.js";
import { UsageError } from "../usage-error.js";
import type { CsvForm } from "./csv-parser.js";
import type { RowImportRequest } from "./import-rows.js";

/** The options of an import of rows. */
export interface RowFlags {
  readonly format?: "csv" | "jsonl" | undefined;
  readonly key?: readonly string[] | undefined;
  readonly map?: readonly string[] | undefined;
  readonly skip?: readonly string[] | undefined;
  readonly delimiter?: string | undefined;
  readonly quote?: string | undefined;
  readonly rate?: number | undefined;
  readonly bad?: string | undefined;
  readonly maxBad?: number | undefined;
  readonly restart?: boolean | undefined;
}

/** Adds the options of an import of rows. */
export function addRowFlags(command: Command): Command {
  return command
    .option(
      "--format <format>",
      "read rows instead of an export: csv (a header row names the columns), or jsonl (a JSON object on each line)",
      parsedBy(parseFormat),
    )
    .option(
      "--key <columns>",
      "with --format: the file's columns that make the row key, separated by commas",
      names,
    )
    .option(
      "--map <file=column,...>",
      "with --format: where columns of the file go: COLUMN, or FAMILY:QUALIFIER (default: to the column of the same name)",
      names,
    )
    .option("--skip <columns>", "with --format: the file's columns to leave out, separated by commas", names)
    .option(
      "--delimiter <character>",
      "with --format csv: what separates fields, or tab (default: a comma)",
      parsedBy(parseCharacter),
    )
    .option(
      "--quote <character>",
      'with --format csv: what surrounds fields (default: ")',
      parsedBy(parseCharacter),
    )
    .option(
      "--rate <rows>",
      "with --format: most rows in a second, such as 1000/s (default: as many as the store takes)",
      parsedBy(parseRowRate),
    )
    .option(
      "--bad <file>",
      "with --format: write each rejected line to this file, with its number and the reason",
    )
    .option(
      "--max-bad <n>",
      "with --format: how many lines may be wrong before the import stops (default: 0)",
      parsedBy(parseCount(0)),
    )
    .option("--restart", "with --format: import all lines, and do not continue an interrupted import");
}

/** Gathers names that are separated by commas. The option may be given several times. */
function names(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), ...text.split(",").filter((name) => name !== "")];
}

function parseFormat(text: string): "csv" | "jsonl" {
  if (text === "csv" || text === "jsonl") return text;
  throw new UsageError(`The format must be csv or jsonl, not ${JSON.stringify(text)}.`);
}

function parseCharacter(text: string): string {
  const character = text === "tab" || text === "\\t" ? "\t" : text;
  if (/^[\t -~]$/.test(character)) return character;
  throw new UsageError(`It must be one ASCII character, or tab, not ${JSON.stringify(text)}.`);
}

function parseRowRate(text: string): number {
  const rate = Number(/^(.+?)(\/s)?$/.exec(text)?.[1]);
  if (Number.isFinite(rate) && rate > 0) return rate;
  throw new UsageError(
    `The rate must be a number of rows above 0, such as 1000/s, not ${JSON.stringify(text)}.`,
  );
}

/** The request that the flags describe, but for what other options say. */
export function rowFlags(
  flags: RowFlags,
  tables: readonly string[],
): Pick<RowImportRequest, "format" | "plan" | "csv" | "rate" | "bad" | "maxBad" | "restart"> {
  const { format = "csv", key = [], skip = [], rate, bad, maxBad = 0, restart = false } = flags;
  const [table, ...more] = tables;
  if (table === undefined || more.length > 0) {
    throw new UsageError("--format imports into one table: give --table NAME once.");
  }
  if (key.length === 0) {
    throw new UsageError(
      "Give --key COLUMN: the column of the file that has the row keys, or several for a composite key.",
    );
  }
  return {
    format,
    plan: { table, key, map: mapOf(flags), skip },
    csv: csvOf(flags),
    rate,
    bad,
    maxBad,
    restart,
  };
}

function mapOf({ map = [] }: RowFlags): Readonly<Record<string, string>> {
  const entries = map.map((text) => {
    const at = text.lastIndexOf("=");
    if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)] as const;
    throw new UsageError(`--map takes FILE_COLUMN=COLUMN, not ${JSON.stringify(text)}.`);
  });
  return Object.fromEntries(entries);
}

function csvOf({ format, delimiter, quote }: RowFlags): CsvForm {
  if (format !== "csv" && (delimiter ?? quote) !== undefined) {
    throw new UsageError("--delimiter and --quote are for --format csv.");
  }
  const form = { delimiter: delimiter ?? ",", quote: quote ?? '"' };
  if (form.delimiter === form.quote) throw new UsageError("--delimiter and --quote must differ.");
  return form;
}

const rowFlagNames: Readonly<Record<Exclude<keyof RowFlags, "format">, string>> = {
  key: "--key",
  map: "--map",
  skip: "--skip",
  delimiter: "--delimiter",
  quote: "--quote",
  rate: "--rate",
  bad: "--bad",
  maxBad: "--max-bad",
  restart: "--restart",
};

/** Throws if a flag for rows is given without a format. */
export function checkNoRowFlags(flags: RowFlags): void {
  for (const [name, flag] of Object.entries(rowFlagNames)) {
    if (flags[name as keyof RowFlags] === undefined) continue;
    throw new UsageError(`${flag} is for rows: give --format csv or --format jsonl too.`);
  }
}
