import type { Command } from "commander";
import { formatValue, valueToJson } from "../../../schema/index.js";
import type { HistoryEntry } from "../../../transaction/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand, parsedBy } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { noteCustomCodecs } from "../../database/value-text.js";
import { parseCellRow } from "../../input/key-text.js";
import { findColumn } from "../../input/target.js";
import { cutToWidth, layOut, oneLine } from "../../print/layout.js";
import { parseCount } from "../../time.js";

interface HistoryOptions extends DatabaseOptions {
  readonly limit?: number | undefined;
}

export function addHistory(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "history", {
    summary: "print the committed versions of a cell",
    description:
      "Prints the committed versions of a cell that garbage collection has kept, newest first: the approximate time of " +
      "the commit, the commit and start timestamps, and the value. --at takes any of these commit timestamps.",
    examples: [
      "history ./data documents.title https://example.org/",
      "history ./data documents.title https://example.org/ --limit 3 --json",
    ],
    json: [
      'A line for each version: {"time","commitTimestamp","startTimestamp","kind","value"}; "kind" is "put" or',
      '"delete". A delete has no "value".',
    ],
  });
  addAppOption(command)
    .argument("<column>", "TABLE.COLUMN or TABLE.FAMILY:QUALIFIER")
    .argument("<row>", "the row's key; a composite key as a JSON array")
    .option("--limit <n>", "at most this many versions", parsedBy(parseCount(1)))
    .action((location: string, target: string, rowText: string, { app, limit }: HistoryOptions) =>
      withDatabase(cli, { reads: true, location, app }, async (opened) => {
        const column = findColumn(opened, target);
        const row = parseCellRow(column, rowText);
        await noteCustomCodecs(cli, opened, column.table, column.name);
        const entries = await opened.db.history(column, row, { limit });
        if (cli.json) for (const entry of entries) await cli.out.json(entryToJson(entry));
        else if (entries.length === 0) await cli.note("the cell has no versions");
        else {
          const show = (value: unknown) => oneLine(formatValue(column.codec, value));
          for (const line of historyLines(entries, show)) await cli.out.line(cutToWidth(line, cli.out.width));
        }
      }),
    );
}

function entryToJson(entry: HistoryEntry<unknown>): object {
  const { time, commitTimestamp, startTimestamp, kind, value } = entry;
  const shown = { time: time.toISOString(), commitTimestamp, startTimestamp, kind };
  return kind === "delete" ? shown : { ...shown, value: valueToJson(value) };
}

function historyLines(
  entries: readonly HistoryEntry<unknown>[],
  show: (value: unknown) => string,
): readonly string[] {
  const columns = [
    { name: "time" },
    { name: "commit" },
    { name: "start" },
    { name: "kind" },
    { name: "value" },
  ];
  const rows = entries.map(({ time, commitTimestamp, startTimestamp, kind, value }) => [
    time.toISOString(),
    String(commitTimestamp),
    String(startTimestamp),
    kind,
    kind === "delete" ? "" : show(value),
  ]);
  return layOut(columns, rows);
}
