import { checkArgument, SchemaError } from "../errors/index.js";
import {
  droppedCell,
  encodeJson,
  type Registry,
  type RegistryView,
  type Sessions,
  type StoredDropped,
  tableCell,
  wholeTable,
} from "../observer/index.js";
import { columnPath, familyRange } from "../schema/index.js";
import type { ColumnRange } from "../store/index.js";
import { CoreTransaction, userColumns } from "../transaction/index.js";
import { expiryCell } from "./expiry-record.js";
import { rebuildCells } from "./lookup-versions.js";
import { checkRate, type PassedCell, type PassOptions, runPass } from "./pass.js";
import { encodePass, newPass, passCell } from "./pass-record.js";

/** What to drop: a table, or a column, family or signal of one. */
export interface DropTarget {
  readonly table: string;
  /** Default: the whole table. */
  readonly column?: string | undefined;
}

/** The result of `db.drop`. */
export interface DropReport extends DropTarget {
  /** Cells removed, with those of earlier, interrupted calls. */
  readonly removed: number;
  /** Whether the call continued an earlier one. */
  readonly continued: boolean;
}

/**
 * Drops a column or a table. First it takes the name out of the record of tables, and from then on
 * nobody writes there. Then it removes the cells, a page at a time.
 *
 * Until the name is released, `open` refuses a program that declares it, and a running program that
 * declares it cannot write there. So no cell is left over.
 */
export async function drop(
  registry: Registry,
  sessions: Sessions,
  target: DropTarget,
  options: PassOptions,
): Promise<DropReport> {
  checkTarget("db.drop", target);
  checkRate("db.drop", options.rate);
  const { table, column } = target;
  const name = nameOf(target);
  const isBegun = recordOf(await registry.fresh(), target) !== undefined;
  if (!isBegun) {
    const declaring = await sessions.declaring(name);
    if (declaring.length > 0) {
      throw new SchemaError(
        `${name} was not dropped: ${declaring.join(", ")} ${declaring.length === 1 ? "declares" : "declare"} it. Remove it from the program, deploy it everywhere, and drop it then.`,
      );
    }
  }
  let record!: StoredDropped;
  await registry.change(async (tx, view) => {
    const known = recordOf(view, target);
    record = known ?? { droppedAt: registry.context.environment.now(), kind: checkUnused(view, target) };
    if (known !== undefined) return false;
    tx.write({ ...droppedCell(table, column ?? wholeTable), value: encodeJson(record) });
    const description = view.tables.get(table)!;
    const columns = description.columns.filter((each) => each.name !== column);
    const kept = column === undefined ? undefined : encodeJson({ ...description, columns });
    tx.write({ ...tableCell(table), value: kept });
    forget(tx, target, view);
    // Without it, the name could be released before the first cell is removed.
    const pass = newPass(registry.context.environment.uniqueId(), editionOf(target));
    tx.write({ ...passCell("drop", target), value: encodePass(pass) });
    return true;
  }, options.signal);
  await registry.untilAllDropped(options.signal);
  const pass = await runPass(
    registry,
    {
      kind: "drop",
      table,
      column,
      columns: columnsOf(target, record),
      edition: editionOf(target),
      looksOnly: false,
      doing: `Dropping ${name}`,
      handle: (cells) => remove(registry, target, record, cells, options.signal),
    },
    options,
  );
  return { ...target, removed: pass.changed, continued: isBegun };
}

/** Lets programs use the name of a dropped column or table again. */
export async function release(registry: Registry, target: DropTarget): Promise<void> {
  checkTarget("db.release", target);
  const { table, column } = target;
  await registry.change(async (tx, view) => {
    if ((await registry.read(tx, passCell("drop", target))) !== undefined) {
      throw new SchemaError(
        `${nameOf(target)} is not dropped completely, so its name stays reserved. Drop it again first.`,
      );
    }
    if (recordOf(view, target) === undefined) {
      throw new SchemaError(`${nameOf(target)} is not dropped, so its name needs no release.`);
    }
    tx.write({ ...droppedCell(table, column ?? wholeTable), value: undefined });
    return true;
  });
}

function checkTarget(call: string, target: DropTarget): void {
  const { table, column } = target ?? {};
  const fits = typeof table === "string" && (column === undefined || typeof column === "string");
  checkArgument(call, "an object with the names of a table and, if wanted, of a column", target, fits);
}

function nameOf({ table, column }: DropTarget): string {
  return column === undefined ? table : `${table}.${column}`;
}

function editionOf({ column }: DropTarget): string {
  return column ?? wholeTable;
}

/** Removes the records that would hold for another table or column of the same name. */
function forget(tx: CoreTransaction, { table, column }: DropTarget, view: RegistryView): void {
  const cells = [passCell("migrate", { table }), passCell("expire", { table })];
  if (column === undefined) {
    const dropped = [...(view.droppedRecords.get(table)?.keys() ?? [])];
    cells.push(expiryCell(table), ...rebuildCells(table));
    // The table's own drop removes what is left of its columns.
    cells.push(...dropped.map((column) => passCell("drop", { table, column })));
  }
  for (const cell of cells) tx.write({ ...cell, value: undefined });
}

function recordOf(
  { droppedRecords }: RegistryView,
  { table, column }: DropTarget,
): StoredDropped | undefined {
  return droppedRecords.get(table)?.get(column ?? wholeTable);
}

/** The kind of the column. Throws a SchemaError if it does not exist, or something needs it. */
function checkUnused(view: RegistryView, target: DropTarget): StoredDropped["kind"] {
  const { table, column } = target;
  const name = nameOf(target);
  const description = view.tables.get(table);
  const found = description?.columns.find((each) => each.name === column);
  if (description === undefined || (column !== undefined && found === undefined)) {
    const known =
      description === undefined
        ? `Its tables are ${[...view.tables.keys()].join(", ") || "none"}`
        : `Table ${table} has ${description.columns.map((each) => each.name).join(", ")}`;
    throw new SchemaError(`The database has recorded no ${name}. ${known}.`);
  }
  if (column !== undefined && description.columns.length === 1) {
    throw new SchemaError(`${name} is the only column of table ${table}. Drop the table instead.`);
  }
  const isTarget = (each: { readonly table: string; readonly column: string }) =>
    each.table === table && (column === undefined || each.column === column);
  const refuse = (user: string, advice: string): SchemaError =>
    new SchemaError(`${name} was not dropped: ${user}. ${advice}.`);
  for (const { name: observer, record } of view.observers.values()) {
    if (isTarget(record))
      throw refuse(
        `observer "${observer}" watches it`,
        `Unregister the observer first, with \`percolator unregister\` or \`db.unregister("${observer}")\``,
      );
  }
  for (const { record } of view.feedRecords.values()) {
    if (record.columns.some(isTarget))
      throw refuse(
        `feed ${record.name} follows it`,
        `Remove the feed with \`db.removeFeed("${record.name}")\` first`,
      );
  }
  for (const each of view.tables.values()) {
    if (each.name !== table && each.writtenWith !== undefined && isTarget(each.writtenWith))
      throw refuse(
        `table ${each.name}, a unique constraint or an exact index, is kept with it`,
        "Drop that table first",
      );
  }
  return found?.kind ?? null;
}

function columnsOf({ column }: DropTarget, { kind }: StoredDropped): readonly ColumnRange[] {
  if (column === undefined) return userColumns as readonly ColumnRange[];
  return [kind === "family" ? familyRange(column) : { exact: columnPath(column) }];
}

/**
 * Deletes cells in one transaction, as programs do: live queries then see that the values are gone.
 * Returns undefined if the name was released, because the cells may belong to its next use. The
 * transaction is serializable, so the name is not released before it commits.
 */
async function remove(
  registry: Registry,
  { table, column = wholeTable }: DropTarget,
  record: StoredDropped,
  cells: readonly PassedCell[],
  signal: AbortSignal | undefined,
): Promise<{ changed: number; failed: number } | undefined> {
  return await registry.retrying(async () => {
    const options = { isolation: "serializable", label: "drop", signal } as const;
    const tx = await CoreTransaction.begin(registry.context, options);
    try {
      const stored = await registry.read(tx, droppedCell(table, column));
      if (stored?.equals(encodeJson(record)) !== true) return undefined;
      for (const { row, column } of cells) tx.write({ table, row, column, value: undefined });
      await tx.commit();
      return { changed: cells.length, failed: 0 };
    } finally {
      tx.rollback();
    }
  }, signal);
}
