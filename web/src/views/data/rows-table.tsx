import type { RowShown, RowsPage } from "../../../../src/dashboard/api/index.js";
import { counted } from "../../format/numbers.js";
import { keyLine, oneLine, partsOf } from "../../format/text.js";
import { dateTime } from "../../format/times.js";
import { moveByKeys } from "../../parts/keys.js";
import { RowName, ShortValue } from "../../parts/names.js";
import { Empty } from "../../parts/notices.js";
import { hashOf, type Route } from "../../routing/route.js";
import { Expiry } from "./expiry.js";

interface Props {
  readonly page: RowsPage;
  readonly route: Route;
  readonly table: string;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** The most cells of a family shown in a list of rows. */
const maxCells = 3;

/** A page of rows. */
export function RowsTable({ page, route, table, isLoading, reload }: Props) {
  const { state } = route;
  const columns = [...new Set(page.columns.map(nameOf))];
  const isNarrow = state.row !== undefined;
  const parts = headingsOf(page);
  const isExpiring = !isNarrow && page.rows.some((row) => expiryOf(row) !== undefined);
  return (
    <section class={`panel rows ${isLoading ? "loading" : ""}`} aria-labelledby="rows" aria-busy={isLoading}>
      <div class="panel-head">
        <h2 id="rows">{table}</h2>
        <span class="faint">
          {counted(page.rows.length, "row")} as of {dateTime(page.at / 1_000)}
        </span>
        <button type="button" class="quiet" onClick={reload}>
          Read again
        </button>
      </div>
      {page.rows.length === 0 ? (
        <Empty title="No rows here.">
          {state.after !== undefined
            ? "No row is behind the last one of the page before."
            : state.prefix
              ? "No key has this prefix."
              : state.at
                ? "The table had no rows at that time."
                : "The table is empty."}
        </Empty>
      ) : (
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Rows and their cells">
          <table class="stack data-rows" onKeyDown={moveByKeys}>
            <thead>
              <tr>
                {parts.length === 0 ? (
                  <th scope="col">Row</th>
                ) : (
                  parts.map((part) => (
                    <th key={part} scope="col">
                      {part}
                    </th>
                  ))
                )}
                {isNarrow
                  ? null
                  : columns.map((column) => (
                      <th key={column} scope="col">
                        {column}
                      </th>
                    ))}
                {isExpiring ? <th scope="col">Expiry</th> : null}
              </tr>
            </thead>
            <tbody>
              {page.rows.map((row) => (
                <Row
                  key={row.row}
                  row={row}
                  columns={isNarrow ? [] : columns}
                  headings={parts}
                  isExpiring={isExpiring}
                  route={route}
                  table={table}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Paging page={page} route={route} table={table} />
    </section>
  );
}

/** The headings of the parts of a composite key, with the kind of each: `key 2, int`. */
function headingsOf({ keyParts = 0, keyKinds }: RowsPage): readonly string[] {
  return Array.from({ length: keyParts }, (_, index) => {
    const kind = keyKinds?.[index];
    const name = keyParts === 1 ? "key" : `key ${index + 1}`;
    return kind === undefined ? name : `${name}, ${kind}`;
  });
}

const nameOf = (column: string) => column.split(":", 1)[0]!;

function Row({
  row,
  columns,
  headings,
  isExpiring,
  route,
  table,
}: {
  row: RowShown;
  columns: readonly string[];
  /** The headings of the parts of its key. */
  headings: readonly string[];
  /** Whether there is a column for the times at which rows expire. */
  isExpiring: boolean;
  route: Route;
  table: string;
}) {
  const { prefix, after, at, show } = route.state;
  const isChosen = route.state.row === row.row;
  const parts = headings.length === 0 ? undefined : partsOf(row.row, headings.length);
  const href = hashOf("data", {
    table,
    prefix,
    after,
    at,
    row: row.row,
    show: show === "history" ? undefined : show,
  });
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <th scope="row">
        <a data-row href={href} aria-current={isChosen ? "true" : undefined}>
          {parts === undefined ? <RowName row={row.row} /> : <bdi>{keyLine(parts[0]!)}</bdi>}
        </a>
      </th>
      {headings.slice(1).map((heading, index) => (
        <td key={heading} data-label={heading} class="mono key">
          <bdi>{parts === undefined ? "" : keyLine(parts[index + 1]!)}</bdi>
        </td>
      ))}
      {columns.map((column) => (
        <td key={column} data-label={column} class={classOf(row, column)}>
          <Cells row={row} column={column} />
        </td>
      ))}
      {isExpiring ? (
        <td data-label="Expiry" class={expiryOf(row) === undefined ? "none" : "expires"}>
          <Expiry at={expiryOf(row)} />
        </td>
      ) : null}
    </tr>
  );
}

/** When the first cell of a row expires. Undefined if none does. */
function expiryOf({ cells }: RowShown): number | undefined {
  const times = cells.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [expiresAt]));
  return times.length === 0 ? undefined : Math.min(...times);
}

function classOf({ cells, isCut }: RowShown, column: string): string {
  const [first] = cells.filter((cell) => nameOf(cell.column) === column);
  if (first === undefined) return isCut ? "" : "none";
  return first.column === column ? "" : "family";
}

/** The value of a column, or the first cells of a family. */
function Cells({ row, column }: { readonly row: RowShown; readonly column: string }) {
  const cells = row.cells.filter((cell) => nameOf(cell.column) === column);
  const [only] = cells;
  if (only === undefined)
    return row.isCut ? (
      <span class="faint" title="The row has more cells than this list reads. Open the row.">
        not read
      </span>
    ) : (
      <span class="absent">–</span>
    );
  if (only.column === column) return <ShortValue value={only.value} />;
  return (
    <span class="family-cells">
      {cells.slice(0, maxCells).map((cell) => (
        <span key={cell.column} class="family-cell">
          <bdi class="qualifier">{oneLine(cell.column.slice(column.length + 1))}</bdi>{" "}
          <ShortValue value={cell.value} />
        </span>
      ))}
      {cells.length > maxCells ? (
        <span class="faint">
          and {cells.length - maxCells}
          {row.isCut ? " or more" : " more"}
        </span>
      ) : null}
    </span>
  );
}

function Paging({
  page,
  route,
  table,
}: {
  readonly page: RowsPage;
  readonly route: Route;
  readonly table: string;
}) {
  const { prefix, at, after } = route.state;
  if (page.next === undefined && after === undefined) return null;
  return (
    <nav class="paging" aria-label="Pages">
      {after === undefined ? null : (
        <>
          <a href={hashOf("data", { table, prefix, at })}>First page</a>
          <button type="button" class="quiet" onClick={() => history.back()}>
            Back
          </button>
        </>
      )}
      {page.next === undefined ? (
        <span class="faint">the end</span>
      ) : (
        <a class="next" href={hashOf("data", { table, prefix, at, after: page.next })}>
          Next rows
        </a>
      )}
    </nav>
  );
}
