import { useEffect } from "preact/hooks";
import type { Pipeline, RowsPage } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { useApi } from "../../api/use-api.js";
import type { CommandParts } from "../../format/shell.js";
import { dateTime } from "../../format/times.js";
import { Fold } from "../../parts/fold.js";
import { Empty, Failed, Loading } from "../../parts/notices.js";
import { Select } from "../../parts/observers-select.js";
import { SearchField } from "../../parts/search-field.js";
import { ViewHead } from "../../parts/view-head.js";
import type { Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { MomentField, millisecondsOf, momentText } from "./moment-field.js";
import { RowPanel } from "./row-panel.js";
import { RowsTable } from "./rows-table.js";

/** Rows per page. */
const limit = 50;

export function DataBrowser({ route }: { readonly route: Route }) {
  const pipeline = useApi<Pipeline>(apiPath("pipeline"));
  const tables = pipeline.data?.tables;
  const table = route.state.table ?? firstTable(tables);
  useEffect(() => {
    if (table === undefined) return;
    remember(table);
    // Another tab may remember another table. This one stays with its own.
    if (route.state.table === undefined) change(route, { table }, true);
  }, [table, route.state.table]);
  const { row, prefix, after, at } = route.state;
  const path = table === undefined ? undefined : apiPath("rows", { table, prefix, after, limit, at });
  const rows = useApi<RowsPage>(path);
  const page = rows.data?.table === table ? rows.data : undefined;
  const whole = wholeParts(prefix, page?.keyKinds);
  const isLeftOut = row === undefined && prefix !== undefined && whole === undefined;
  return (
    <div class="view">
      <ViewHead
        title="Data"
        commands={commandsOf(route, table, whole)}
        commandNote={
          isLeftOut
            ? "The prefix of a command must be whole parts of a composite key, so this one has none."
            : undefined
        }
      >
        The rows of a table as they are now, or were at any time within the retention.
      </ViewHead>
      {pipeline.error === undefined ? null : <Failed error={pipeline.error} retry={pipeline.reload} />}
      {tables === undefined && pipeline.error === undefined ? <Loading what="the tables" /> : null}
      {tables?.length === 0 ? (
        <Empty title="No table is recorded yet.">
          A table is recorded when a database is opened with it, or at its first use.
        </Empty>
      ) : null}
      {tables === undefined || table === undefined ? null : (
        <>
          <Controls route={route} table={table} tables={tables} />
          <div
            class={
              row === undefined ? "split" : route.state.show === "protocol" ? "split open wide" : "split open"
            }
          >
            {rows.error !== undefined ? (
              <Failed error={rows.error} retry={rows.reload} />
            ) : page === undefined ? (
              <Loading what="rows" />
            ) : (
              <RowsTable
                page={page}
                route={route}
                table={table}
                isLoading={rows.isLoading}
                reload={rows.reload}
              />
            )}
            {row === undefined ? null : (
              <RowPanel
                key={`${table} ${row}`}
                route={route}
                table={table}
                row={row}
                columns={tables.find(({ name }) => name === table)?.columns ?? []}
              />
            )}
          </div>
        </>
      )}
    </div>
  );
}

const lastKey = "percolator-table";

/** Keeps the name of the table, with which the view opens next time. */
function remember(table: string): void {
  try {
    localStorage.setItem(lastKey, table);
  } catch {
    // A browser may forbid it. The view then opens with the first table.
  }
}

/** The table that was used last, or the first one that is not internal. */
function firstTable(tables: Pipeline["tables"] | undefined): string | undefined {
  let last: string | null = null;
  try {
    last = localStorage.getItem(lastKey);
  } catch {
    // As above.
  }
  const known = tables?.find(({ name }) => name === last);
  return (known ?? tables?.find(({ isInternal }) => !isInternal) ?? tables?.[0])?.name;
}

/**
 * A prefix as the command line takes it, which for a composite key is whole parts. Undefined if it is
 * the beginning of a part.
 */
function wholeParts(prefix: string | undefined, kinds: RowsPage["keyKinds"]): string | undefined {
  if (!prefix || kinds === undefined || kinds.length < 2 || prefix.startsWith("[")) return prefix;
  return kinds[0] === "text" ? undefined : `[${prefix}]`;
}

function commandsOf(
  { state }: Route,
  table: string | undefined,
  prefix: string | undefined,
): readonly CommandParts[] {
  if (table === undefined) return [{ command: "status" }];
  const { row, cell, show, after } = state;
  const at = state.at && momentText(state.at);
  if (row === undefined) return [{ command: "scan", args: [table], options: { prefix, after, at, limit } }];
  if (show === "protocol") return [{ command: "inspect", args: [table, row] }];
  if (show === "history" && cell !== undefined)
    return [{ command: "history", args: [`${table}.${cell}`, row] }];
  return [{ command: "get", args: [table, row], options: { at } }];
}

/** Resets the state that has no meaning for another table, prefix or time. */
const fromTop = { after: undefined, row: undefined, cell: undefined, show: undefined };

function Controls({ route, table, tables }: { route: Route; table: string; tables: Pipeline["tables"] }) {
  const isKnown = tables.some(({ name }) => name === table);
  const all = isKnown ? tables : [...tables, { name: table, isInternal: false }];
  const { prefix = "", at } = route.state;
  return (
    <div class="controls data-controls">
      <Select
        label="Table"
        value={table}
        options={all.map(({ name, isInternal }) => [name, name, isInternal] as const)}
        onChange={(chosen) => change(route, { ...fromTop, table: chosen, prefix: undefined })}
      />
      <SearchField
        label="Rows that begin with"
        value={prefix}
        placeholder="such as oslo"
        onChange={(text) => change(route, { ...fromTop, table, prefix: text }, true)}
      />
      <Fold line={`Time: ${at === undefined ? "now" : dateTime(millisecondsOf(at))}`}>
        <MomentField
          at={at}
          onChange={(moment, isFinal) => change(route, { table, at: moment, after: undefined }, !isFinal)}
        />
      </Fold>
    </div>
  );
}
