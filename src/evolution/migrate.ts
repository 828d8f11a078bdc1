import { checkArgument, InvalidValueError, type PercolatorError, SchemaError } from "../errors/index.js";
import type { Registry } from "../observer/index.js";
import {
  type AnyTable,
  type Codec,
  type ColumnDefinition,
  definition,
  isTable,
  parsePath,
  storedVersion,
  type TableDefinition,
  type ValueVersions,
} from "../schema/index.js";
import { equalBytes } from "../store/index.js";
import { rewriteCell, showColumn } from "../transaction/index.js";
import { checkRate, columnRanges, type PassedCell, type PassOptions, runPass } from "./pass.js";

/** The options of `db.migrate`. All are optional. */
export interface MigrateOptions extends PassOptions {
  /**
   * Only counts: tries every upgrade, and rewrites nothing. Default: false.
   */
  readonly check?: boolean | undefined;
}

/** A cell that a migration could not rewrite. */
export interface FailedMigration {
  readonly table: string;
  /** The row's key, as text. */
  readonly row: string;
  /** The column, with the qualifier of a family's cell. */
  readonly column: string;
  /** What its upgrade said. */
  readonly error: string;
}

/** The result of `db.migrate`, for one table. */
export interface MigrateReport {
  readonly table: string;
  /** Each column with the version of which no older value is left, unless cells failed. */
  readonly columns: Readonly<Record<string, number>>;
  /** Cells visited. */
  readonly scanned: number;
  /** Cells rewritten. With `check`: cells that would be. */
  readonly changed: number;
  /** Cells whose upgrade failed. They are as before. */
  readonly failed: number;
  /** The first of the failed cells of this call, at most 100. */
  readonly failures: readonly FailedMigration[];
  /** Whether the call continued an earlier, interrupted one. */
  readonly continued: boolean;
}

const maxFailures = 100;

/**
 * Rewrites the values of older versions in the columns of some tables that declare versions.
 *
 * A rewrite replaces the stored bytes of a value by those of the same value in the new shape. The
 * value keeps its commit timestamp. So observers, feeds and live queries notice nothing, and no
 * transaction conflicts. A transaction that writes the cell at the same time wins.
 */
export async function migrate(
  registry: Registry,
  tables: readonly AnyTable[],
  options: MigrateOptions,
): Promise<readonly MigrateReport[]> {
  checkRate("db.migrate", options.rate);
  checkArgument("db.migrate", "an array of tables", tables, Array.isArray(tables));
  const definitions = tables.map((table) => {
    if (isTable(table)) return table[definition];
    throw new SchemaError("`migrate` takes tables that `table(name, columns)` returned.");
  });
  // Compares the tables with the record before anything is changed.
  if (options.check !== true) await registry.register(tables, [], [], options.signal);
  const reports: MigrateReport[] = [];
  for (const table of new Set(definitions)) {
    const columns = [...table.columns.values()].filter(({ codec }) => codec?.versions !== undefined);
    if (columns.length > 0) reports.push(await new Migration(registry, table, columns, options).run());
  }
  return reports;
}

class Migration {
  readonly #registry: Registry;
  readonly #table: TableDefinition;
  readonly #columns: ReadonlyMap<
    string,
    { readonly codec: Codec<unknown>; readonly versions: ValueVersions }
  >;
  readonly #options: MigrateOptions;
  readonly #failures: FailedMigration[] = [];

  constructor(
    registry: Registry,
    table: TableDefinition,
    columns: readonly ColumnDefinition[],
    options: MigrateOptions,
  ) {
    this.#registry = registry;
    this.#table = table;
    this.#options = options;
    this.#columns = new Map(
      columns.map(({ name, codec }) => [name, { codec: codec!, versions: codec!.versions! }]),
    );
  }

  async run(): Promise<MigrateReport> {
    const { name: table } = this.#table;
    const versions = Object.fromEntries(
      [...this.#columns].map(([name, { versions }]) => [name, versions.written]),
    );
    const result = await runPass(
      this.#registry,
      {
        kind: "migrate",
        table,
        columns: columnRanges([...this.#columns.keys()].map((name) => this.#table.columns.get(name)!)),
        edition: JSON.stringify(versions),
        looksOnly: this.#options.check === true,
        doing: `Migrating table ${table}`,
        handle: (cells) => this.#handle(cells),
      },
      this.#options,
    );
    return { table, columns: versions, ...result, failures: this.#failures };
  }

  async #handle(cells: readonly PassedCell[]): Promise<{ changed: number; failed: number }> {
    let changed = 0;
    let failed = 0;
    await Promise.all(
      cells.map(async (cell) => {
        try {
          if (await this.#rewrite(cell)) changed++;
        } catch (error) {
          // Only what the value itself causes leaves the cell as it is.
          // Compares the code, since the codec may come from another copy of the package.
          if (!(error instanceof Error) || (error as Partial<PercolatorError>).code !== "INVALID_VALUE")
            throw error;
          failed++;
          this.#fail(cell, error.message);
        }
      }),
    );
    return { changed, failed };
  }

  async #rewrite(cell: PassedCell): Promise<boolean> {
    const { codec, versions } = this.#columns.get(parsePath(cell.column).name)!;
    const isOld = (stored: Uint8Array) => (storedVersion(codec.tag, stored) ?? 1) < versions.written;
    if (!isOld(cell.value)) return false;
    if (this.#options.check === true) {
      upgraded(codec, cell.value);
      return true;
    }
    const upgrade = (stored: Uint8Array) => (isOld(stored) ? upgraded(codec, stored) : undefined);
    return rewriteCell(this.#registry.context, cell, upgrade, this.#options.signal);
  }

  #fail({ table, row, column }: PassedCell, error: string): void {
    if (this.#failures.length >= maxFailures) return;
    this.#failures.push({
      table,
      row: this.#registry.showRow(table, row),
      column: showColumn(column),
      error,
    });
  }
}

/**
 * The stored bytes in the written version.
 *
 * @throws InvalidValueError if the value cannot be upgraded, or would be another one afterwards.
 */
function upgraded(codec: Codec<unknown>, stored: Uint8Array): Uint8Array {
  const bytes = codec.encode(codec.decode(stored));
  if (!equalBytes(codec.encode(codec.decode(stored)), bytes)) {
    throw new InvalidValueError(
      "the upgrade gives another value each time, so readers would not agree; make it depend on the old value alone",
    );
  }
  if (!equalBytes(codec.encode(codec.decode(bytes)), bytes)) {
    throw new InvalidValueError(
      "the schema changes the upgraded value when it is read again; make it accept its own output unchanged",
    );
  }
  return bytes;
}
