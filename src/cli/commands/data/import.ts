import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Database } from "../../../database/index.js";
import { ExportDamagedError, StoreError } from "../../../errors/index.js";
import { type Observer, observer } from "../../../observer/index.js";
import { type AnyTable, type Column, tableFromDescription } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, listOption } from "../../command.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { BlockCells } from "../../dump/block-cells.js";
import { BlockReader, type ReadBlock } from "../../dump/block-reader.js";
import { hasNoCells } from "../../dump/empty-table.js";
import type { ExportHeader } from "../../dump/format.js";
import { BlockImporter } from "../../dump/import-blocks.js";
import { checkKept, checkSchemas } from "../../dump/import-check.js";
import { fileInput, type ImportInput, streamInput } from "../../dump/import-input.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { loadApp } from "../../input/module.js";
import { counted } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { importRows, type RowImportRequest } from "../../rows/import-rows.js";
import { addRowFlags, checkNoRowFlags, type RowFlags, rowFlags } from "../../rows/row-flags.js";
import { formatDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface ImportCommandOptions extends CoordinatorFlags, RowFlags {
  readonly table?: readonly string[] | undefined;
  readonly app?: string | undefined;
  readonly merge?: boolean | undefined;
  readonly observers?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
}

export function addImport(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "import", {
    summary: "read an export into a database",
    description:
      "Writes the cells of an export into a database, which may be on another store. Creates the database if it does " +
      "not exist. A file is checked completely before anything changes. On the standard input, each block is checked " +
      "before it is written. If an import was interrupted, run the same command again: it continues after the last " +
      "block that it wrote. Imported cells are changes, so registered observers become due on them. If no observer is " +
      "registered yet, only those changes become due that were due or parked in the exported database. With --app, the " +
      "module's codecs and schemas read each value before it is written; nothing of the module is registered. Without " +
      "--force, the command refuses two things before it writes. The first: values without a schema for a column that " +
      "is recorded with one, unless the module of --app declares it. The second: a column without its unique constraint or exact index, " +
      "or both into tables that hold data. With --format, the command reads rows of a CSV file or of lines of JSON into one " +
      "table, by the columns' codecs, in transactions of up to 500 rows that also record the place in the file. So an " +
      "interrupted import continues exactly where it stopped, with the same command, if the file is the same up to there. " +
      "It stops at the first line that does not fit, unless --max-bad allows some; with --dry-run it reads on to the end. With --app it registers the module's " +
      "tables and observers first, and creates the database if it does not exist; without --app, the database must exist.",
    examples: [
      "import ./copy backup.jsonl.gz",
      "import bigtable://my-project/my-instance backup.jsonl.gz --coordinator auto",
      "import ./data backup.jsonl.gz --table documents --merge",
      "import ./data backup.jsonl.gz --dry-run",
      "import ./data backup.jsonl.gz --app ./app.ts",
      "import ./data orders.csv.gz --format csv --table orders --key id",
      "import ./data visits.csv --format csv --table visits --key url,day --map secs=seconds --delimiter ';'",
      "import ./data events.jsonl --format jsonl --table events --key id --max-bad 100 --bad rejected.jsonl",
    ],
    json: [
      '{"file","timestamp","time","tables","cells","continuedAt","dryRun","durationMs"}: "cells" counts those written',
      'by this run; "continuedAt" is the block after which it continued an earlier run, or null. With --format',
      '{"file","format","table","rows","cells","bad","continuedAt","dryRun","durationMs"}: "rows" and "cells" count those',
      'written by this run, "bad" the rejected lines of all runs, and "continuedAt" is a line. Each line of the file of',
      '--bad is {"line","column","reason","text"}.',
    ],
    exit: [
      "1 if the file is damaged or cut (EXPORT_DAMAGED), if a table already holds data, or with --format if more lines",
      "are wrong than --max-bad allows (INVALID_VALUE), or with --dry-run if any line is wrong.",
    ],
  });
  addCoordinatorFlags(command)
    .argument("[file]", "the file, which may be compressed with gzip (default, or -: the standard input)")
    .option("--table <name>", "only this table; may be given several times", listOption)
    .option("--merge", "also import into tables that hold data; cells of the export replace existing cells")
    .option(
      "--app <module>",
      "JavaScript or TypeScript module that default-exports { tables, observers }; its tables check each value",
    )
    .option(
      "--observers",
      "also register the observers of the export, with what they have handled: nothing is due but what was due there",
    )
    .option("--force", "import without the checks of schemas, unique constraints and exact indexes")
    .option("--dry-run", "only check the file; with --app, or --format, also check each value");
  addRowFlags(command).action(
    async (location: string, path: string | undefined, options: ImportCommandOptions) => {
      if (options.format !== undefined) {
        await importRows(cli, rowRequest(location, path, options));
        return;
      }
      checkNoRowFlags(options);
      const input =
        path === undefined || path === "-"
          ? streamInput(cli.io.stdin)
          : await fileInput(resolve(cli.io.cwd, path), path, "a file that `percolator export` wrote");
      if (options.observers === true && !input.isFile) {
        throw new UsageError("--observers reads the export twice: give a file.");
      }
      const app = options.app === undefined ? undefined : await loadApp(options.app, cli.io.cwd, cli.signal);
      await new Import(cli, location, input, options, app?.tables ?? []).run();
    },
  );
}

function rowRequest(
  location: string,
  path: string | undefined,
  options: ImportCommandOptions,
): RowImportRequest {
  const { app, force = false, dryRun = false, merge, observers, table } = options;
  if (merge === true)
    throw new UsageError("--format always writes into the table as it is: leave out --merge.");
  if (observers === true) throw new UsageError("Only an export has observers: leave out --observers.");
  return {
    ...rowFlags(options, table ?? []),
    location,
    file: path ?? "-",
    app,
    force,
    dryRun,
    coordinator: options,
  };
}

class Import {
  readonly #cli: Cli;
  readonly #location: string;
  readonly #input: ImportInput;
  readonly #options: ImportCommandOptions;
  readonly #declared: readonly AnyTable[];
  readonly #progress: Progress;
  #cells = 0;
  #continuedAt: number | undefined;

  constructor(
    cli: Cli,
    location: string,
    input: ImportInput,
    options: ImportCommandOptions,
    declared: readonly AnyTable[],
  ) {
    this.#cli = cli;
    this.#location = location;
    this.#input = input;
    this.#options = options;
    this.#declared = declared;
    this.#progress = new Progress(cli);
  }

  async run(): Promise<void> {
    const { dryRun = false } = this.#options;
    try {
      // A stream cannot be read twice, so this code checks each of its blocks just before writing
      // the block.
      const checked = this.#input.isFile || dryRun ? await this.#check() : undefined;
      if (checked !== undefined && dryRun) return await this.#report(checked, this.#wanted(checked));
      const { reader, blocks } = this.#read();
      try {
        const first = await blocks.next();
        const header = reader.header!;
        const wanted = this.#wanted(header);
        await this.#into(header, wanted, first.value as ReadBlock, blocks);
        await this.#report(header, wanted);
      } finally {
        await blocks.return(undefined);
      }
    } finally {
      this.#progress.end();
    }
  }

  #read() {
    const reader = new BlockReader(this.#input.text(this.#cli.signal), this.#input.name);
    return { reader, blocks: reader.blocks() };
  }

  /** Reads the whole export once, so that a damaged file changes nothing. */
  async #check(): Promise<ExportHeader> {
    const { reader } = this.#read();
    const { table, dryRun } = this.#options;
    const countsSome = dryRun === true && table !== undefined;
    let blockCells: BlockCells | undefined;
    for await (const block of reader.blocks()) {
      if (blockCells !== undefined && (countsSome || this.#declared.length > 0)) {
        this.#cells += blockCells.of(block).length;
      }
      blockCells ??= this.#cellsOf(reader.header!);
      if (!countsSome) this.#cells = block.cells;
      this.#show(() => `checking: ${counted(block.cells, "cell")}`);
    }
    if (!dryRun) this.#cells = 0;
    return reader.header!;
  }

  #cellsOf(header: ExportHeader): BlockCells {
    const { name } = this.#input;
    return new BlockCells(header, { wanted: this.#wanted(header), name, declared: this.#declared });
  }

  #wanted(header: ExportHeader): ReadonlySet<string> {
    const names = header.tables.map(({ name }) => name);
    for (const name of this.#options.table ?? []) {
      if (names.includes(name)) continue;
      throw new UsageError(
        `The export has no table ${JSON.stringify(name)}; it has ${names.join(", ")}.`,
        "SCHEMA",
      );
    }
    return new Set(this.#options.table ?? names);
  }

  async #into(
    header: ExportHeader,
    wanted: ReadonlySet<string>,
    first: ReadBlock,
    blocks: AsyncGenerator<ReadBlock>,
  ): Promise<void> {
    const cells = this.#cellsOf(header);
    const observers = this.#options.observers === true ? observersOf(header, wanted) : [];
    const check = ({ db }: OpenedDatabase) => this.#checkAllowed(db, header, wanted);
    const request = { location: this.#location, coordinator: this.#options, create: true, check };
    await withDatabase(this.#cli, request, async ({ db }) => {
      const note = noteName(first, wanted);
      const { signal, environment } = this.#cli;
      const id = environment.uniqueId();
      const importer = new BlockImporter({ db, note, cells, id, signal });
      const done = await importer.done();
      this.#continuedAt = done?.block;
      if (done === undefined) await this.#checkAllowed(db, header, wanted);
      await db.recordTables(cells.tables, observers, signal);
      for await (const block of blocks) {
        if (block.block > (done?.block ?? 0)) await importer.write(block);
        this.#cells = importer.cells;
        this.#show(
          () => `${counted(importer.cells, "cell")} written, ${this.#progress.rate(importer.cells)}`,
        );
      }
      if (this.#options.observers === true) await this.#moveObservers(db, observers, importer);
      await importer.finish();
    });
  }

  /** Checks that the import is allowed. The caller skips this if an earlier run of the same import passed it. */
  async #checkAllowed(db: Database, header: ExportHeader, wanted: ReadonlySet<string>): Promise<void> {
    const { merge, force } = this.#options;
    const recorded = await db.tables();
    await using snapshot = await db.snapshot({ signal: this.#cli.signal });
    const isEmpty = async (name: string) => !recorded.has(name) || (await hasNoCells(snapshot, name));
    if (!merge) await checkEmpty(wanted, isEmpty);
    if (!force) {
      const ofWanted = header.tables.filter(({ name }) => wanted.has(name));
      const plan = { wanted: ofWanted, exported: header.tables, recorded, declared: this.#declared };
      checkSchemas(plan);
      await checkKept(plan, isEmpty);
    }
  }

  /**
   * Registers the export's observers, and records which cells they have handled. Their records count only
   * from their registration on, and the imported cells must not be due for them, so this comes last.
   */
  async #moveObservers(db: Database, observers: readonly Observer[], importer: BlockImporter): Promise<void> {
    await db.registerObservers(observers, this.#cli.signal);
    let handled = 0;
    for await (const block of this.#read().blocks) {
      if (block.block > 0) handled += await importer.acknowledge(block);
      this.#show(() => `${counted(handled, "handled change")} marked`);
    }
  }

  #show(text: () => string): void {
    const { size, bytesRead } = this.#input;
    this.#progress.show(
      () => `${text()}${this.#progress.left(size === undefined ? undefined : bytesRead / size)}`,
    );
  }

  async #report(header: ExportHeader, wanted: ReadonlySet<string>): Promise<void> {
    this.#progress.end();
    const { dryRun = false } = this.#options;
    const { timestamp, time } = header;
    const durationMs = Math.round(this.#progress.elapsedMs);
    const document = {
      file: this.#input.isFile ? this.#input.name : null,
      timestamp,
      time,
      tables: [...wanted],
      cells: this.#cells,
      continuedAt: this.#continuedAt ?? null,
      dryRun,
      durationMs,
    };
    await this.#cli.print(document, () => [
      `${counted(this.#cells, "cell")} of ${counted(wanted.size, "table")} as of ${timestamp} (${time})`,
      dryRun
        ? "the file is complete; nothing was imported"
        : `imported in ${formatDuration(durationMs)}${this.#continuedAt === undefined ? "" : `, continued after block ${this.#continuedAt}`}`,
    ]);
  }
}

/** The export's observers of the tables to import. */
function observersOf(header: ExportHeader, wanted: ReadonlySet<string>): readonly Observer[] {
  const tables = new Map(header.tables.map((each) => [each.name, tableFromDescription(each)]));
  const moved = (header.observers ?? []).filter(({ table }) => wanted.has(table));
  return moved.map(({ observer: name, version, table, column }) => {
    const target = tables.get(table)?.[column];
    if (target === undefined) {
      throw new ExportDamagedError(
        `The export has observer ${name} on ${table}.${column}, which its header does not list.`,
      );
    }
    return observer(name, target as Column<unknown>, () => undefined, { version });
  });
}

async function checkEmpty(
  wanted: ReadonlySet<string>,
  isEmpty: (table: string) => Promise<boolean>,
): Promise<void> {
  for (const name of wanted) {
    if (await isEmpty(name)) continue;
    throw new StoreError(
      `Table ${name} already holds data, so nothing was imported. With --merge, cells of the export replace those of the table.`,
    );
  }
}

/**
 * Returns the name of the progress note. Each combination of an export and the chosen tables has a
 * name of its own.
 */
function noteName({ sha256 }: ReadBlock, wanted: ReadonlySet<string>): string {
  const tables = [...wanted].sort().join(",");
  return `import/${createHash("sha256").update(`${sha256} ${tables}`).digest("hex")}`;
}
