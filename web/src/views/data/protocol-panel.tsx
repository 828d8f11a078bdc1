import type { InspectedRow } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { useApi } from "../../api/use-api.js";
import { oneLine } from "../../format/text.js";
import { exactClock } from "../../format/times.js";
import { ShortValue } from "../../parts/names.js";
import { Empty, Failed, Loading, NotRenewed } from "../../parts/notices.js";

type Column = InspectedRow["columns"][number];
type Hint = InspectedRow["hints"][number];

/** Time between two requests, short enough to see the steps of a commit. */
const everyMs = 1_000;

/** Data, locks and write records of a row side by side, as in figure 4 of the paper. */
export function ProtocolPanel({ table, row }: { readonly table: string; readonly row: string }) {
  const { data, error, reload } = useApi<InspectedRow>(apiPath("inspect", { table, row }), everyMs);
  if (error !== undefined && data === undefined) return <Failed error={error} retry={reload} />;
  if (data === undefined) return <Loading what="the protocol cells" />;
  if (data.columns.length === 0 && data.hints.length === 0)
    return (
      <Empty title="This row has no protocol cells.">
        It never had a cell, or garbage collection removed its last one.
      </Empty>
    );
  const users = data.columns.filter(({ role }) => role === "user");
  const others = data.columns.filter(({ role }) => role !== "user");
  return (
    <>
      <NotRenewed error={error} />
      <p class="note">
        Each line is a timestamp: a value is at its start timestamp, a write record at its commit timestamp. A
        lock exists while its transaction commits. Updated every second.
      </p>
      {data.isCut ? (
        <p class="note" data-cut>
          This is not all: it shows 500 columns, and the newest 200 lines of each.{" "}
          <code>percolator inspect</code> prints all of them.
        </p>
      ) : null}
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Protocol cells of the row">
        <table class="protocol">
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Timestamp</th>
              <th scope="col">data</th>
              <th scope="col">lock</th>
              <th scope="col">write</th>
              <th scope="col">status</th>
              <th scope="col">ack</th>
              <th scope="col">hints</th>
            </tr>
          </thead>
          {users.map((column) => (
            <ColumnLines
              key={column.column}
              column={column}
              hints={data.hints.filter((hint) => hint.column === column.column)}
            />
          ))}
          {others.map((column) => (
            <ColumnLines key={column.column} column={column} hints={[]} />
          ))}
          <HintsAlone
            hints={data.hints.filter(({ column }) => !users.some((user) => user.column === column))}
          />
        </table>
      </div>
    </>
  );
}

function ColumnLines({ column, hints }: { readonly column: Column; readonly hints: readonly Hint[] }) {
  const { role, entries } = column;
  const isAck = role === "acknowledgment" || role === "parked";
  const lines = Math.max(1, entries.length);
  return (
    <tbody class={`protocol-column ${role}`}>
      {Array.from({ length: lines }, (_, index) => {
        const entry = entries[index];
        return (
          <tr key={entry?.timestamp ?? index}>
            {index > 0 ? null : (
              <th scope="rowgroup" rowSpan={lines}>
                <bdi>{oneLine(column.column)}</bdi>
                {role === "user" ? null : <span class="tag">{role}</span>}
              </th>
            )}
            <td class="timestamp" title={entry === undefined ? undefined : exactClock(entry.at)}>
              {entry?.timestamp}
            </td>
            <td>{entry?.data === undefined || isAck ? null : <ShortValue value={entry.data} />}</td>
            <td class={entry?.lock === undefined ? "" : "lock"}>{entry?.lock}</td>
            <td class="write">{isAck ? null : entry?.write}</td>
            <td>{entry?.status}</td>
            <td>
              {isAck && entry?.data !== undefined ? <ShortValue value={entry.data} /> : null}
              {isAck ? <span class="faint"> {entry?.write}</span> : null}
            </td>
            {index > 0 ? null : (
              <td rowSpan={lines} class="hints">
                <Hints hints={hints} />
              </td>
            )}
          </tr>
        );
      })}
    </tbody>
  );
}

function Hints({ hints }: { readonly hints: readonly Hint[] }) {
  return (
    <>
      {hints.map(({ observer, since }) => (
        <span key={observer} class="hint" title={`due since ${exactClock(since / 1_000)}`}>
          {observer} is due
        </span>
      ))}
    </>
  );
}

/** Hints of columns without a cell in the row: signals and deleted cells. */
function HintsAlone({ hints }: { readonly hints: readonly Hint[] }) {
  if (hints.length === 0) return null;
  return (
    <tbody class="protocol-column">
      {hints.map((hint) => (
        <tr key={`${hint.column} ${hint.observer}`}>
          <th scope="rowgroup">{oneLine(hint.column)}</th>
          <td colSpan={6} />
          <td class="hints">
            <Hints hints={[hint]} />
          </td>
        </tr>
      ))}
    </tbody>
  );
}
