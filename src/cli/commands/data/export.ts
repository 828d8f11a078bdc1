import { resolve } from "node:path";
import type { Command } from "commander";
import type { Database } from "../../../database/index.js";
import { throwIfAborted } from "../../../environment/index.js";
import { StaleSnapshotError } from "../../../errors/index.js";
import { definition, describeTable, type TableDescription } from "../../../schema/index.js";
import { dateToTimestamp, type Snapshot } from "../../../transaction/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, listOption, parsedBy } from "../../command.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { BlockBuilder } from "../../dump/block-builder.js";
import { DueChanges } from "../../dump/due-changes.js";
import { hasNoCells } from "../../dump/empty-table.js";
import { exportBlocks } from "../../dump/export-blocks.js";
import { type CutExport, ExportFile } from "../../dump/export-file.js";
import { claimFile } from "../../dump/file-claim.js";
import {
  type DueLine,
  type ExportHeader,
  formatName,
  formatVersionOf,
  type ObserverLine,
} from "../../dump/format.js";
import { gzipMember } from "../../dump/gzip-member.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { findTable } from "../../input/target.js";
import { counted, showBytes } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration, parseMoment, showTimestamp } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface ExportOptions extends CoordinatorFlags {
  readonly table?: readonly string[] | undefined;
  readonly at?: number | Date | undefined;
  readonly gzip?: boolean | undefined;
  readonly force?: boolean | undefined;
}

/** Where the export writes its blocks: a file, or the standard output. */
interface Sink {
  readonly cut: CutExport | undefined;
  begin(): Promise<void>;
  write(text: Uint8Array): Promise<void>;
  /** Bytes written so far, or undefined if unknown. */
  readonly bytes: number;
}

export function addExport(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "export", {
    summary: "write a consistent copy of the tables to a file",
    description:
      "Writes all cells of all tables, as of one snapshot, as lines of JSON with checksums. Compresses the file if its " +
      "name ends with .gz. Without a file, writes to the standard output. The database may be in use. If a file was " +
      "cut, run the same command again: it continues the file from the same snapshot, as long as that is within the " +
      "retention. `import` reads the file into any store. The export includes changes that observers are due on, and " +
      "parked changes. After the import they are due again. It includes what observers have handled, for " +
      '`import --observers`, but no old versions. "The format of an export" in the documentation describes the file.',
    examples: [
      "export ./data backup.jsonl.gz",
      "export ./data documents.jsonl --table documents --at 2025-01-31T12:00:00Z",
      "export ./data | percolator import bigtable://my-project/my-instance --coordinator auto",
    ],
    json: [
      '{"file","timestamp","time","tables","cells","bytes","continued","durationMs"} if there is a file. Without a',
      "file, the command prints only the export.",
    ],
    exit: [
      "1 also if a file was cut and its snapshot is older than the retention. Then start again with --force.",
    ],
  });
  addCoordinatorFlags(command)
    .argument("[file]", "a new file, or one that was cut (default: the standard output)")
    .option("--table <name>", "only this table; may be given several times", listOption)
    .option("--at <time>", "as of a timestamp or an ISO date, within the retention", parsedBy(parseMoment))
    .option("--gzip", "compress the standard output")
    .option("--force", "replace an existing file")
    .action((location: string, file: string | undefined, options: ExportOptions) =>
      withDatabase(cli, { reads: true, location, coordinator: options }, (opened) =>
        run(cli, opened, file, options),
      ),
    );
}

async function run(
  cli: Cli,
  opened: OpenedDatabase,
  path: string | undefined,
  options: ExportOptions,
): Promise<void> {
  const tables = await chosenTables(opened, options.table);
  if (path === undefined) {
    await exportTo(cli, opened, standardOutput(cli, options.gzip === true), tables, options);
    return;
  }
  if (options.gzip)
    throw new UsageError(
      "--gzip is for the standard output. A file is compressed if its name ends with .gz: leave --gzip out.",
    );
  const place = resolve(cli.io.cwd, path);
  const release = await claimFile(place, cli.environment);
  try {
    await exportToFile(
      cli,
      opened,
      path,
      await ExportFile.open(place, options.force === true),
      tables,
      options,
    );
  } finally {
    await release();
  }
}

async function exportToFile(
  cli: Cli,
  opened: OpenedDatabase,
  path: string,
  file: ExportFile,
  tables: readonly TableDescription[],
  options: ExportOptions,
): Promise<void> {
  try {
    if (file.cut !== undefined) await checkCut(cli, opened, file.cut, path, tables, options);
    const done = await exportTo(cli, opened, file, tables, options);
    await file.flush();
    const { header, cells, durationMs } = done;
    const { timestamp, time } = header;
    const report = { file: path, timestamp, time, tables: header.tables.map(({ name }) => name), cells };
    await cli.print({ ...report, bytes: file.bytes, continued: file.cut !== undefined, durationMs }, () => [
      `${counted(cells, "cell")} of ${counted(header.tables.length, "table")} as of ${timestamp} (${time})`,
      `${showBytes(file.bytes)} in ${path}, ${formatDuration(durationMs)}`,
    ]);
  } finally {
    await file.close();
  }
}

function standardOutput(cli: Cli, compress: boolean): Sink {
  return {
    cut: undefined,
    bytes: 0,
    begin: async () => {},
    write: (text) => cli.out.write(compress ? gzipMember(text) : text),
  };
}

async function chosenTables(
  opened: OpenedDatabase,
  names: readonly string[] | undefined,
): Promise<readonly TableDescription[]> {
  for (const name of names ?? []) findTable(opened, name, "");
  const chosen = [...new Set(names ?? opened.names)].sort();
  const due = new Map((await opened.db.schema()).rebuildsDue.map(({ table, built }) => [table, built]));
  return chosen.map((name) => {
    const described = opened.table(name)![definition];
    // Where it is imported, the entries begin in the version that they have here.
    const { version } = described;
    return describeTable(
      version === undefined ? described : { ...described, firstVersion: due.get(name) ?? version },
    );
  });
}

/**
 * Throws if the unfinished export in the file has another source, timestamp or tables than this
 * one.
 */
async function checkCut(
  cli: Cli,
  { db }: OpenedDatabase,
  cut: CutExport,
  path: string,
  tables: readonly TableDescription[],
  { at, table }: ExportOptions,
): Promise<void> {
  const { header } = cut;
  const refuse = (why: string) =>
    new UsageError(`${path} is the beginning of another export: ${why}. To replace it, give --force.`);
  const { store } = await db.status();
  if (header.source !== store) throw refuse(`its source is ${header.source}`);
  const timestamp = at instanceof Date ? dateToTimestamp(at) : at;
  if (timestamp !== undefined && timestamp !== header.timestamp) {
    throw refuse(`it is as of ${header.timestamp} (${header.time})`);
  }
  const names = (list: readonly TableDescription[]) => list.map(({ name }) => name).join(", ");
  if (names(tables) === names(header.tables)) return;
  const other = refuse(`its tables are ${names(header.tables)}`);
  if (table !== undefined) throw other;
  // If the user named no table, the cut file may lack a table: one that was created after the
  // file's snapshot, and so had no cells in that snapshot.
  const has = new Set(header.tables.map(({ name }) => name));
  await using snapshot = await takeSnapshot(cli, db, cut, at);
  for (const { name } of tables) {
    if (!has.has(name) && !(await hasNoCells(snapshot, name))) throw other;
  }
}

async function exportTo(
  cli: Cli,
  opened: OpenedDatabase,
  sink: Sink,
  tables: readonly TableDescription[],
  { at }: ExportOptions,
): Promise<{ readonly header: ExportHeader; readonly cells: number; readonly durationMs: number }> {
  const { cut } = sink;
  const progress = new Progress(cli);
  const { db } = opened;
  // A snapshot does not cover the due changes, so this code reads them before and after it takes
  // the snapshot. The two reads find every change that was due at the snapshot's timestamp, except
  // a change that appeared and was handled between them.
  const due = new DueChanges();
  const names = new Set(tables.map(({ name }) => name));
  if (cut === undefined) await due.add(db, opened, names, cli.signal);
  await using snapshot = await takeSnapshot(cli, db, cut, at);
  if (cut === undefined) await due.add(db, opened, names, cli.signal);
  const header =
    cut?.header ??
    headerOf(snapshot, (await db.status()).store, tables, await observersOf(db, names), due.lines);
  await sink.begin();
  const builder = new BlockBuilder(cut?.block);
  if (cut === undefined) {
    builder.add(JSON.stringify(header), 0);
    await sink.write(builder.take());
  }
  const before = builder.cells;
  const show = () => {
    const done = builder.cells - before;
    const size = sink.bytes === 0 ? "" : `, ${showBytes(sink.bytes)}`;
    return `${counted(builder.cells, "cell")} written${size}, ${progress.rate(done)}`;
  };
  try {
    for await (const block of exportBlocks(snapshot, header, builder, cut?.lastLine)) {
      throwIfAborted(cli.signal, "The export");
      await sink.write(block);
      progress.show(show);
    }
    await sink.write(builder.end());
  } finally {
    progress.end();
  }
  return { header, cells: builder.cells, durationMs: Math.round(progress.elapsedMs) };
}

/** The observers of columns of these tables. A signal has no cells that could be handled. */
async function observersOf(db: Database, tables: ReadonlySet<string>): Promise<readonly ObserverLine[]> {
  const { observers } = await db.schema();
  return observers
    .filter(({ table, kind }) => kind !== "signal" && tables.has(table))
    .map(({ name: observer, version, table, column }) => ({ observer, version, table, column }));
}

async function takeSnapshot(
  cli: Cli,
  db: Database,
  cut: CutExport | undefined,
  at: number | Date | undefined,
): Promise<Snapshot> {
  try {
    return await db.snapshot({ at: cut?.header.timestamp ?? at, signal: cli.signal });
  } catch (error) {
    if (cut === undefined || !(error instanceof StaleSnapshotError)) throw error;
    throw new StaleSnapshotError(
      `The export that was cut is as of ${cut.header.time}, which is older than the retention. Garbage collection may have ` +
        "dropped what the export has not read yet. Start again with --force.",
      { cause: error },
    );
  }
}

function headerOf(
  { timestamp }: Snapshot,
  source: string,
  tables: readonly TableDescription[],
  observers: readonly ObserverLine[],
  due: readonly DueLine[],
): ExportHeader {
  const time = showTimestamp(timestamp);
  const version = formatVersionOf(tables);
  return { format: formatName, version, timestamp, time, source, tables, observers, due };
}
