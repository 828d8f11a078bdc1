import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { Pace } from "../../environment/index.js";
import { InvalidValueError } from "../../errors/index.js";
import type { Json } from "../../schema/index.js";
import type { Cli } from "../cli.js";
import { CellWriters } from "../database/cell-writer.js";
import { declaredBy, type OpenedDatabase, withDatabase } from "../database/open-database.js";
import { fileInput, type ImportInput, streamInput } from "../dump/import-input.js";
import type { CoordinatorFlags } from "../input/coordinator-flags.js";
import { exitCodes } from "../print/exit.js";
import { counted } from "../print/layout.js";
import { Progress } from "../print/progress.js";
import { formatDuration } from "../time.js";
import { UsageError } from "../usage-error.js";
import { type BadLine, BadLineFile, badLine } from "./bad-lines.js";
import { type CsvForm, CsvParser, csvFields } from "./csv-parser.js";
import { LineParser } from "./line-parser.js";
import type { FileRecord } from "./record.js";
import { type ImportState, RefusedRow, RowBatches } from "./row-batches.js";
import { RowFile } from "./row-file.js";
import { type ParsedRow, RefusedRecord, RowMapping, type RowPlan } from "./row-mapping.js";

/** What the user wants to import. */
export interface RowImportRequest {
  readonly location: string;
  /** Path of the file. `-`: the standard input. */
  readonly file: string;
  readonly format: "csv" | "jsonl";
  readonly plan: RowPlan;
  readonly csv: CsvForm;
  readonly app: string | undefined;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly restart: boolean;
  /** Most rows in a second. Undefined: as many as the store takes. */
  readonly rate: number | undefined;
  /** Path of the report of rejected records. */
  readonly bad: string | undefined;
  readonly maxBad: number;
  readonly coordinator: CoordinatorFlags;
}

const batchRows = 500;
/** Bytes of records in a transaction: far below the most that a transaction may write. */
const batchBytes = 1024 * 1024;
/** Cells in a transaction. Each counts its row's key, though the record may have only two bytes for it. */
const batchCells = 20_000;
/** Rejected records that are shown if there is no report. */
const shownBad = 20;

/** Imports the rows of a CSV file or of lines of JSON into one table. */
export async function importRows(cli: Cli, request: RowImportRequest): Promise<void> {
  const isStream = request.file === "-";
  const format = "a CSV file, or a file with a JSON object on each line";
  const input = isStream
    ? streamInput(cli.io.stdin)
    : await fileInput(resolve(cli.io.cwd, request.file), request.file, format);
  const { location, app, coordinator, dryRun } = request;
  const create = app !== undefined && !dryRun;
  const options = dryRun ? undefined : declaredBy;
  const check = async (opened: OpenedDatabase) =>
    new RowMapping(opened, await CellWriters.of(opened, { force: request.force }), request.plan);
  const wanted = { location, app, coordinator, create, reads: dryRun, options, check };
  await withDatabase(cli, wanted, async (opened) => {
    const rows = new RowImport(cli, request, input, opened, await check(opened));
    try {
      await rows.run();
    } finally {
      await rows.close();
    }
  });
}

class RowImport {
  readonly #cli: Cli;
  readonly #request: RowImportRequest;
  readonly #input: ImportInput;
  readonly #mapping: RowMapping;
  readonly #batches: RowBatches;
  readonly #progress: Progress;
  readonly #pace: Pace;
  #bad: BadLineFile | undefined;
  /** Length of the report of an interrupted run, also if this run writes none. */
  #badBytes = 0;
  #badFile: string | undefined;
  #header: readonly string[] | undefined;
  /** The state after the last batch, and how much of it an earlier run has done. */
  #rows = 0;
  #cells = 0;
  #badCount = 0;
  #badShown = 0;
  #earlierRows = 0;
  #earlierCells = 0;
  #continuedAt: number | undefined;
  /** The batch: rows to write, and records to reject. */
  #batch: ParsedRow[] = [];
  #batchBytes = 0;
  #batchCells = 0;
  #badLines: BadLine[] = [];

  constructor(
    cli: Cli,
    request: RowImportRequest,
    input: ImportInput,
    { db }: OpenedDatabase,
    mapping: RowMapping,
  ) {
    this.#cli = cli;
    this.#request = request;
    this.#input = input;
    this.#mapping = mapping;
    this.#batches = new RowBatches({ db, note: this.#noteName(), signal: cli.signal });
    this.#progress = new Progress(cli);
    this.#pace = new Pace(cli.environment, request.rate);
  }

  /** An import of one file into one table has one note. */
  #noteName(): string {
    const { file, plan } = this.#request;
    const path = file === "-" ? file : resolve(this.#cli.io.cwd, file);
    return `import-rows/${createHash("sha256")
      .update(JSON.stringify([path, plan.table]))
      .digest("hex")}`;
  }

  async run(): Promise<void> {
    const { dryRun, bad } = this.#request;
    const from = await this.#begin();
    this.#badBytes = from?.badBytes ?? 0;
    this.#badFile = from?.badFile;
    if (bad !== undefined) await this.#openBad(resolve(this.#cli.io.cwd, bad));
    const { format, csv } = this.#request;
    const parser = format === "csv" ? new CsvParser(csv, from?.line) : new LineParser(from?.line);
    const file = new RowFile(this.#input.text(this.#cli.signal), this.#name, parser);
    for await (const record of file.records(from)) {
      if (this.#header === undefined && format === "csv") this.#header = this.#headerOf(record);
      else this.#add(record);
      if (this.#isFull) await this.#write(file, parser.line);
    }
    if (format === "csv" && this.#header === undefined) {
      throw new InvalidValueError(`${this.#name} is empty: it has no header row that names its columns.`);
    }
    await this.#write(file, parser.line);
    if (!dryRun) await this.#batches.forget();
    await this.#report();
  }

  async #openBad(path: string): Promise<void> {
    // The interrupted run has written nothing to another file.
    const kept = path === (this.#badFile ?? path) ? this.#badBytes : 0;
    this.#bad = await BadLineFile.open(path, kept);
    this.#badFile = path;
  }

  async close(): Promise<void> {
    this.#progress.end();
    await this.#bad?.close();
  }

  get #name(): string {
    return this.#input.name;
  }

  /** Returns the state of an interrupted import that this one continues. */
  async #begin(): Promise<ImportState | undefined> {
    const { bad, dryRun } = this.#request;
    const state = await this.#batches.state();
    if (dryRun && bad !== undefined && state?.badFile === resolve(this.#cli.io.cwd, bad)) {
      throw new UsageError(
        `${bad} is the report of an interrupted import, which will continue it. Name another file with --bad.`,
      );
    }
    if (dryRun || state === undefined) return undefined;
    if (this.#request.restart) {
      await this.#batches.forget();
      return undefined;
    }
    if (state.plan !== this.#planText) {
      throw new UsageError(
        `An import of ${this.#name} into table ${this.#request.plan.table} with other options stopped at line ${state.line}. Give the same ` +
          "options to continue it, or --restart to import all lines with these.",
      );
    }
    this.#header = state.header ?? undefined;
    this.#rows = this.#earlierRows = state.rows;
    this.#cells = this.#earlierCells = state.cells;
    this.#badCount = state.bad;
    this.#continuedAt = state.line;
    return state;
  }

  get #planText(): string {
    const { format, plan, csv } = this.#request;
    return JSON.stringify([format, plan.key, Object.entries(plan.map).sort(), [...plan.skip].sort(), csv]);
  }

  #headerOf({ content, problem }: FileRecord): readonly string[] {
    if (problem !== undefined) {
      throw new InvalidValueError(`The header row of ${this.#name} cannot be read: ${problem}.`);
    }
    return this.#mapping.checkHeader(csvFields(content, this.#request.csv));
  }

  #add(record: FileRecord): void {
    const { line, bytes } = record;
    this.#batchBytes += bytes.length;
    try {
      const parsed = this.#parsed(record);
      this.#batch.push({ line, bytes, ...parsed });
      this.#batchCells += parsed.cells.length;
    } catch (error) {
      if (!(error instanceof RefusedRecord)) throw error;
      this.#reject(record, error);
    }
  }

  #parsed({ content, problem }: FileRecord): Pick<ParsedRow, "row" | "cells"> {
    if (problem !== undefined) throw new RefusedRecord(problem);
    const { format, csv } = this.#request;
    if (format === "csv") return this.#mapping.ofFields(this.#header!, csvFields(content, csv));
    return this.#mapping.ofObject(objectOf(content));
  }

  /** Throws if more records are rejected than the user allows. A dry run allows any number. */
  #reject(record: Pick<FileRecord, "line" | "bytes">, refused: RefusedRecord): void {
    const { dryRun, maxBad } = this.#request;
    const bad = badLine(record, refused);
    if (!dryRun && this.#badCount + this.#badLines.length >= maxBad) {
      const { line, column } = bad;
      const where = column === null ? "" : `, column ${JSON.stringify(column)}`;
      const stopped =
        this.#rows === 0
          ? "Nothing was imported"
          : `${counted(this.#rows, "row")} before this batch are imported, and this command continues there`;
      const allowed =
        maxBad === 0
          ? "To reject such lines and go on, give --max-bad N, and --bad FILE to keep them"
          : `More than ${counted(maxBad, "line")} ${maxBad === 1 ? "is" : "are"} wrong (--max-bad)`;
      throw new InvalidValueError(
        `${this.#name}, line ${line}${where}: ${bad.reason.replace(/\.$/, "")}. ${stopped}. Correct the line and run the command again. ${allowed}.`,
      );
    }
    this.#badLines.push(bad);
  }

  get #isFull(): boolean {
    const records = this.#batch.length + this.#badLines.length;
    if (this.#batchBytes >= batchBytes || this.#batchCells >= batchCells) return true;
    return records >= this.#pace.atOnce(batchRows);
  }

  /** Writes the batch, with the place behind it. */
  async #write(file: RowFile, line: number): Promise<void> {
    const { dryRun } = this.#request;
    await this.#pace.wait(this.#cli.signal, "The import");
    this.#pace.count(this.#batch.length);
    while (!dryRun) {
      try {
        await this.#bad?.write(this.#badLines);
        await this.#batches.write(this.#batch, this.#stateAt(file, line));
        break;
      } catch (error) {
        if (!(error instanceof RefusedRow)) throw error;
        await this.#rejectWritten(error);
      }
    }
    if (dryRun) await this.#bad?.write(this.#badLines);
    await this.#showBad();
    this.#rows += this.#batch.length;
    this.#cells += cellsOf(this.#batch);
    this.#badCount += this.#badLines.length;
    this.#batch = [];
    this.#badLines = [];
    this.#batchBytes = 0;
    this.#batchCells = 0;
    this.#show();
  }

  /** Rejects a row of the batch, whose other rejected lines are in the report already. */
  async #rejectWritten({ row, message }: RefusedRow): Promise<void> {
    await this.#showBad();
    this.#badCount += this.#badLines.length;
    this.#badLines = [];
    this.#batch = this.#batch.filter((each) => each !== row);
    this.#reject(row, new RefusedRecord(message));
  }

  #stateAt(file: RowFile, line: number): ImportState {
    return {
      ...file.place(line),
      plan: this.#planText,
      header: this.#header ?? null,
      rows: this.#rows + this.#batch.length,
      cells: this.#cells + cellsOf(this.#batch),
      bad: this.#badCount + this.#badLines.length,
      badBytes: this.#bad?.bytes ?? this.#badBytes,
      badFile: this.#badFile,
    };
  }

  /** Without a report, the first rejected records are notes. */
  async #showBad(): Promise<void> {
    if (this.#bad !== undefined) return;
    for (const { line, column, reason } of this.#badLines) {
      if (++this.#badShown > shownBad) continue;
      this.#progress.end();
      await this.#cli.note(
        `line ${line}${column === null ? "" : `, column ${JSON.stringify(column)}`}: ${reason}`,
      );
    }
  }

  #show(): void {
    const { size, bytesRead } = this.#input;
    this.#progress.show(
      () =>
        `${counted(this.#rows, "row")} ${this.#request.dryRun ? "checked" : "written"}${this.#badCount === 0 ? "" : `, ${this.#badCount} rejected`}, ` +
        `${this.#progress.rate(this.#rows - this.#earlierRows)}${this.#progress.left(size === undefined ? undefined : bytesRead / size)}`,
    );
  }

  async #report(): Promise<void> {
    this.#progress.end();
    const { file, format, plan, dryRun } = this.#request;
    const durationMs = Math.round(this.#progress.elapsedMs);
    if (dryRun && this.#badCount > 0) this.#cli.exitCode = exitCodes.data;
    const unlisted = this.#badShown - shownBad;
    if (unlisted > 0) {
      await this.#cli.note(`${counted(unlisted, "more line")} rejected; --bad FILE keeps all of them`);
    }
    const document = {
      file: file === "-" ? null : file,
      format,
      table: plan.table,
      rows: this.#rows - this.#earlierRows,
      cells: this.#cells - this.#earlierCells,
      bad: this.#badCount,
      continuedAt: this.#continuedAt ?? null,
      dryRun,
      durationMs,
    };
    await this.#cli.print(document, () => [
      `${counted(document.rows, "row")} with ${counted(document.cells, "cell")} for table ${plan.table}, ${counted(document.bad, "line")} rejected`,
      dryRun
        ? "the file was only checked; nothing was imported"
        : `imported in ${formatDuration(durationMs)}${this.#continuedAt === undefined ? "" : `, continued at line ${this.#continuedAt}`}`,
    ]);
  }
}

function cellsOf(rows: readonly ParsedRow[]): number {
  return rows.reduce((sum, { cells }) => sum + cells.length, 0);
}

function objectOf(content: Buffer): Readonly<Record<string, Json>> {
  let json: unknown;
  try {
    json = JSON.parse(content.toString("utf8"));
  } catch (error) {
    throw new RefusedRecord(`it is not JSON (${(error as Error).message})`);
  }
  if (typeof json === "object" && json !== null && !Array.isArray(json)) {
    return json as Readonly<Record<string, Json>>;
  }
  throw new RefusedRecord("it is not a JSON object with the columns' names");
}
