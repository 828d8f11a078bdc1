import type { Pipeline, RowDetail } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { useRowChanges } from "../../api/use-row-changes.js";
import { bytes, count } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { ago, dateTime } from "../../format/times.js";
import { CloseButton } from "../../parts/close-button.js";
import { LongValue, RowName } from "../../parts/names.js";
import { Empty, Failed, Loading } from "../../parts/notices.js";
import { Tabs } from "../../parts/tabs.js";
import { hashOf, type Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";
import { Expiry } from "./expiry.js";
import { HistoryPanel } from "./history-panel.js";
import { ProtocolPanel } from "./protocol-panel.js";
import { WrittenBy } from "./written-by.js";

interface Props {
  readonly route: Route;
  readonly table: string;
  readonly row: string;
}

type Columns = Pipeline["tables"][number]["columns"];

/** Whether a name is that of a cell. A family, a signal and a whole row (`*`) have no versions of their own. */
function isCell(name: string | undefined, columns: Columns): name is string {
  const [column, qualifier] = name?.split(/:(.*)/s) ?? [];
  const kind = qualifier === undefined ? "column" : "family";
  return columns.some((each) => each.name === column && each.kind === kind);
}

/** One row: its cells, a cell's history, or its protocol cells. */
export function RowPanel({ route, table, row, columns }: Props & { readonly columns: Columns }) {
  const { show = "cells", cell } = route.state;
  const hasHistory = isCell(cell, columns);
  const link = (part: string | undefined, of = cell) =>
    hashOf("data", { ...route.state, table, show: part, cell: of });
  return (
    <section class="panel row-panel" aria-labelledby="row">
      <div class="panel-head">
        <h2 id="row" class="row-name">
          <span class="faint">{table}</span> <RowName row={row} />
        </h2>
        <CloseButton onClose={() => change(route, { row: undefined, cell: undefined, show: undefined })} />
      </div>
      <Tabs
        label="Of this row"
        current={show}
        items={[
          { key: "cells", name: "Cells", href: link(undefined) },
          ...(hasHistory ? [{ key: "history", name: "History", href: link("history") }] : []),
          { key: "protocol", name: "Protocol", href: link("protocol") },
        ]}
      />
      {show === "protocol" ? (
        <ProtocolPanel table={table} row={row} />
      ) : show === "history" && hasHistory ? (
        // The versions of another cell must not stand below this one's name.
        <HistoryPanel key={cell} route={route} table={table} row={row} column={cell} />
      ) : (
        <CellsPanel route={route} table={table} row={row} historyOf={(column) => link("history", column)} />
      )}
    </section>
  );
}

function CellsPanel({
  route,
  table,
  row,
  historyOf,
}: Props & { readonly historyOf: (column: string) => string }) {
  const { at, cell } = route.state;
  const { data, error, reload } = useApi<RowDetail>(apiPath("row", { table, row, at }));
  useRowChanges(table, at === undefined ? row : undefined, reload);
  const { now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  if (error !== undefined) return <Failed error={error} retry={reload} />;
  if (data === undefined) return <Loading what="the row" />;
  if (data.cells.length === 0)
    return (
      <Empty title="The row has no cells at this time.">
        For its versions and its protocol cells, see{" "}
        <a href={hashOf("data", { ...route.state, table, show: "protocol" })}>Protocol</a>.
      </Empty>
    );
  return (
    <>
      {data.isCut ? (
        <p class="note" data-cut>
          These are {count(data.cells.length)} of its cells. It has more, in columns that come later in byte
          order. <code>percolator get</code> prints all of them.
        </p>
      ) : null}
      <dl class="cells">
        {data.cells.map(({ column, value, expiresAt, writtenAt, writer }) => (
          <div key={column} class={column === cell ? "chosen" : ""}>
            <dt>
              <bdi>{oneLine(column)}</bdi>
              <span class="faint">{bytes(value.bytes)}</span>
              {expiresAt === undefined ? null : <Expiry at={expiresAt} />}
              <a href={historyOf(column)}>History</a>
            </dt>
            <dd>
              <p class="written-by">
                <time dateTime={new Date(writtenAt).toISOString()}>{dateTime(writtenAt)}</time>,{" "}
                {ago(writtenAt, now)}, <WrittenBy writer={writer} />
              </p>
              <LongValue value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
