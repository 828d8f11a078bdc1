import type { CellName, ValueShown } from "../../../src/dashboard/api/index.js";
import { bytes } from "../format/numbers.js";
import { columnName, formatted, keyLine, oneLine } from "../format/text.js";
import { hashOf } from "../routing/route.js";

/** The key of a row. The empty key would not be seen, and a link of it could not be clicked. */
export function RowName({ row }: { readonly row: string }) {
  return <bdi>{row === "" ? <i>empty key</i> : keyLine(row)}</bdi>;
}

/** A cell, as a link to its row. */
export function CellLink({ cell }: { readonly cell: CellName }) {
  const state = { table: cell.table, row: cell.row, cell: cell.column };
  return (
    <a class="cell-link" href={hashOf("data", state)}>
      <bdi class="cell-column">{oneLine(columnName(cell))}</bdi> <RowName row={cell.row} />
    </a>
  );
}

/** The beginning of a value. */
export function ShortValue({ value }: { readonly value: ValueShown }) {
  return (
    <span class="value short" title={value.isCut ? `the beginning of ${bytes(value.bytes)}` : undefined}>
      <bdi>{oneLine(value.text)}</bdi>
      {value.isCut ? <CutMark value={value} /> : null}
    </span>
  );
}

/** A value up to this many characters needs no scrolling. */
const maxUnscrolled = 200;

/** A value, as much of it as the server sent. */
export function LongValue({ value }: { readonly value: ValueShown }) {
  const text = value.isCut ? value.text : formatted(value.text);
  return (
    <div class="value long">
      {/* A scrolling element must be reachable by keys. */}
      <pre dir="auto" tabIndex={text.length > maxUnscrolled || text.includes("\n") ? 0 : undefined}>
        {value.text === "" ? <i class="faint">empty</i> : text}
      </pre>
      {value.isCut ? <CutMark value={value} /> : null}
    </div>
  );
}

function CutMark({ value }: { readonly value: ValueShown }) {
  return <span class="cut"> … of {bytes(value.bytes)}</span>;
}
