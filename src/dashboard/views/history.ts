import { SchemaError } from "../../errors/index.js";
import {
  type AnyTable,
  bindColumn,
  type Column,
  definition,
  encodeValue,
  isColumn,
  isFamily,
  parseCellRowText,
} from "../../schema/index.js";
import type { CellHistory } from "../api/index.js";
import { valueShown } from "../text/values.js";
import type { View } from "./context.js";
import { writersOf } from "./writers.js";

const maxVersions = 500;
const maxOfValue = 2_000;

/** The committed versions of a cell, newest first. */
export const history: View<CellHistory> = async ({ db, gathered }, given) => {
  const table = await given.table();
  const cell = { row: given.needed("row"), column: given.needed("column") };
  const column = columnOf(table, cell.column);
  const row = parseCellRowText(column, cell.row);
  const entries = await db.history(column, row, { limit: maxVersions + 1 });
  const writerOf = await writersOf(
    gathered,
    entries.map(({ commitTimestamp }) => commitTimestamp),
  );
  return {
    table: column.table.name,
    row: column.table.key.format(row),
    column: cell.column,
    versions: entries.slice(0, maxVersions).map(({ commitTimestamp, startTimestamp, time, value }) => ({
      commitTimestamp,
      startTimestamp,
      at: time.getTime(),
      writer: writerOf(commitTimestamp),
      value:
        value === undefined
          ? undefined
          : valueShown(column.codec, encodeValue(column, row, value), maxOfValue),
    })),
    isCut: entries.length > maxVersions,
  };
};

/** Parses the name of a column, or of a cell of a family. */
function columnOf(table: AnyTable, text: string): Column<unknown, unknown> {
  const defined = table[definition];
  const colon = text.indexOf(":");
  const name = colon < 0 ? text : text.slice(0, colon);
  const bound = bindColumn(defined, name);
  if (bound !== undefined && isColumn(bound) && colon < 0) return bound;
  if (bound !== undefined && isFamily(bound) && colon >= 0) return bound.at(text.slice(colon + 1));
  const known = [...defined.columns.values()].map((each) =>
    each.kind === "family" ? `${each.name}:QUALIFIER` : each.name,
  );
  throw new SchemaError(
    `Table ${defined.name} has no cell ${JSON.stringify(text)} with versions; it has ${known.join(", ")}.`,
  );
}
