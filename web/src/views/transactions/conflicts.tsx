import type { ConflictColumn, ConflictInsights } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { count, counted } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { ago, duration } from "../../format/times.js";
import { RowName } from "../../parts/names.js";
import { Empty, Failed, Loading, NotRenewed, ReachNote } from "../../parts/notices.js";
import { hashOf } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";

const everyMs = 3_000;

/** Which transactions conflict on which columns, most frequent first, with what helps. */
export function Conflicts() {
  const { data, error, reload } = useApi<ConflictInsights>(apiPath("conflicts"), everyMs);
  const { now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  if (error !== undefined && data === undefined) return <Failed error={error} retry={reload} />;
  if (data === undefined) return <Loading what="conflicts" />;
  const most = Math.max(1, ...data.columns.map((column) => column.count));
  const [own, internal] = [false, true].map((is) =>
    data.columns.filter(({ isInternal }) => isInternal === is),
  );
  return (
    <>
      <NotRenewed error={error} />
      <ReachNote reach={data.reach} of="transactions" />
      <section class="panel" aria-labelledby="conflicts">
        <div class="panel-head">
          <h2 id="conflicts">Conflicts by column</h2>
          <span class="faint">over the last {duration(data.sinceMs)}</span>
        </div>
        {data.columns.length === 0 ? (
          <Empty title="No conflict.">No two transactions conflicted on a cell.</Empty>
        ) : (
          <>
            <Columns columns={own!} most={most} now={now} />
            {internal!.length === 0 ? null : (
              <details class="internal">
                <summary>internal: tables of recipes</summary>
                <Columns columns={internal!} most={most} now={now} />
              </details>
            )}
          </>
        )}
      </section>
    </>
  );
}

interface ColumnsProps {
  readonly columns: readonly ConflictColumn[];
  /** The most conflicts of any column. */
  readonly most: number;
  readonly now: number;
}

function Columns({ columns, most, now }: ColumnsProps) {
  return (
    <ol class="conflicts">
      {columns.map(({ table, column, count: times, lastAt, rowCount, rows, pairs, remedy }) => (
        <li key={`${table}.${column}`} data-conflicts={`${table}.${column}`}>
          <p class="conflict-count">
            <b>{count(times)}</b>
            <meter class="bar" min={0} max={most} value={times} aria-label={`${times} conflicts`} />
          </p>
          <div>
            <p>
              <b class="mono">
                {table}.{column}
              </b>{" "}
              <span class="faint">
                in {counted(rowCount, "row")}, last {ago(lastAt, now)}
              </span>
            </p>
            <p>
              {pairs.map(({ loser, winner, count: lost }, index) => (
                <span key={`${loser} ${winner}`}>
                  {index === 0 ? "" : "; "}
                  <b>{oneLine(loser)}</b> lost to <b>{oneLine(winner)}</b>{" "}
                  <span class="faint">{counted(lost, "time")}</span>
                </span>
              ))}
            </p>
            <p class="conflict-rows">
              {rows.map(({ row, count: lost }) => (
                <span key={row}>
                  <a href={hashOf("data", { table, row, cell: column })}>
                    <RowName row={row} />
                  </a>{" "}
                  <span class="faint">{count(lost)}</span>
                </span>
              ))}
            </p>
            {remedy === undefined ? (
              <p class="faint">Each row conflicted once: nothing to do, retries handle it.</p>
            ) : (
              <p class="advice">{oneLine(remedy)}</p>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}
