import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Database } from "../../database/index.js";
import { StoreError } from "../../errors/index.js";
import { definition } from "../../schema/index.js";
import type { Cli } from "../cli.js";
import { databaseCommand, listOption } from "../command.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../coordinator-flags.js";
import { BlockReader, type ReadBlock } from "../dump/block-reader.js";
import { type ExportInput, fileInput, streamInput } from "../dump/export-input.js";
import type { ExportHeader } from "../dump/format.js";
import { BlockImporter, importedTables } from "../dump/import-blocks.js";
import { counted } from "../layout.js";
import { withDatabase } from "../open-database.js";
import { Progress } from "../progress.js";
import { formatDuration } from "../time.js";
import { UsageError } from "../usage-error.js";

interface ImportCommandOptions extends CoordinatorFlags {
  readonly table?: readonly string[] | undefined;
  readonly merge?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
}

export function addImport(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "import", {
    summary: "read what export wrote into a database",
    description:
      "Writes the cells of an export into a database, which is made where there is none, and may be on another store. A file is " +
      "checked whole before anything is changed; of the standard input each block is, before it is written. Given again, the " +
      "command goes on where it stopped. Cells that are imported are changes: observers that are registered become due on " +
      "them. Import before observers are registered, and only that is due which was due or parked in the database that was exported.",
    examples: [
      "import ./copy backup.jsonl.gz",
      "import bigtable://my-project/my-instance backup.jsonl.gz --coordinator auto",
      "import ./data backup.jsonl.gz --table documents --merge",
      "import ./data backup.jsonl.gz --dry-run",
    ],
    json: [
      '{"file","timestamp","time","tables","cells","continuedAt","dryRun","durationMs"}: cells that were',
      "written now, and the block behind which it went on, or null.",
    ],
    exit: ["1 where the file is damaged or cut (EXPORT_DAMAGED), or a table holds something already."],
  });
  addCoordinatorFlags(command)
    .argument("[file]", "the file (default: the standard input)")
    .option("--table <name>", "only this table; may be given several times", listOption)
    .option(
      "--merge",
      "also into tables that hold something: cells of the export replace those that stand there",
    )
    .option("--dry-run", "only check the file")
    .action(async (location: string, path: string | undefined, options: ImportCommandOptions) => {
      const input =
        path === undefined ? streamInput(cli.io.stdin) : await fileInput(resolve(cli.io.cwd, path), path);
      await new Import(cli, location, input, options).run();
    });
}

class Import {
  readonly #cli: Cli;
  readonly #location: string;
  readonly #input: ExportInput;
  readonly #options: ImportCommandOptions;
  readonly #progress: Progress;
  #cells = 0;
  #continuedAt: number | undefined;

  constructor(cli: Cli, location: string, input: ExportInput, options: ImportCommandOptions) {
    this.#cli = cli;
    this.#location = location;
    this.#input = input;
    this.#options = options;
    this.#progress = new Progress(cli);
  }

  async run(): Promise<void> {
    const { dryRun = false } = this.#options;
    try {
      // A stream cannot be read again, and is checked block by block.
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

  /** Reads all of it once, so that nothing is changed by a file that is damaged. */
  async #check(): Promise<ExportHeader> {
    const { reader } = this.#read();
    for await (const { cells } of reader.blocks()) {
      this.#cells = cells;
      this.#show(() => `checking: ${counted(cells, "cell")}`);
    }
    if (!this.#options.dryRun) this.#cells = 0;
    return reader.header!;
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
    const { name } = this.#input;
    const tables = importedTables(header).filter((table) => wanted.has(table[definition].name));
    const request = {
      location: this.#location,
      coordinator: this.#options,
      create: true,
      options: () => ({ tables }),
    };
    await withDatabase(this.#cli, request, async ({ db }) => {
      const note = noteName(first, wanted);
      const { signal } = this.#cli;
      const importer = new BlockImporter(header, { db, note, wanted, name, signal });
      const done = await importer.done();
      this.#continuedAt = done?.block;
      if (done === undefined && !this.#options.merge) await this.#checkEmpty(db, wanted);
      for await (const block of blocks) {
        if (block.block > (done?.block ?? 0)) await importer.write(block);
        this.#cells = importer.cells;
        this.#show(
          () => `${counted(importer.cells, "cell")} written, ${this.#progress.rate(importer.cells)}`,
        );
      }
      await importer.finish();
    });
  }

  async #checkEmpty(db: Database, wanted: ReadonlySet<string>): Promise<void> {
    await using snapshot = await db.snapshot({ signal: this.#cli.signal });
    for (const name of wanted) {
      for await (const rows of snapshot.cells(name)) {
        if (!rows.some(({ cells }) => cells.some((cell) => !cell.isDeleted))) continue;
        throw new StoreError(
          `Table ${name} holds something already, and nothing was imported: give --merge, and cells of the export replace those ` +
            "that stand there.",
        );
      }
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
        ? "the file is whole; nothing was imported"
        : `imported in ${formatDuration(durationMs)}${this.#continuedAt === undefined ? "" : `, going on behind block ${this.#continuedAt}`}`,
    ]);
  }
}

/** One for each export and choice of tables. */
function noteName({ sha256 }: ReadBlock, wanted: ReadonlySet<string>): string {
  const tables = [...wanted].sort().join(",");
  return `import/${createHash("sha256").update(`${sha256} ${tables}`).digest("hex")}`;
}
