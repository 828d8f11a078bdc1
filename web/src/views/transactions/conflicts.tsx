import type { ConflictInsights } from "../../../../src/dashboard/api.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { count } from "../../format/numbers.js";
import { ago, duration } from "../../format/times.js";
import { CellLink } from "../../parts/names.js";
import { Empty, Failed, Loading, ReachNote } from "../../parts/notices.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";

const everyMs = 3_000;

/** Which transactions conflict on which cells, most frequent first, with advice. */
export function Conflicts() {
  const { data, error, reload } = useApi<ConflictInsights>(apiPath("conflicts"), everyMs);
  const { now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  if (error !== undefined && data === undefined) return <Failed error={error} retry={reload} />;
  if (data === undefined) return <Loading what="conflicts" />;
  const most = Math.max(1, ...data.pairs.map((pair) => pair.count));
  return (
    <>
      <ReachNote reach={data.reach} of="transactions" />
      <section class="panel" aria-labelledby="conflicts">
        <div class="panel-head">
          <h2 id="conflicts">Conflicts by cell</h2>
          <span class="faint">over the last {duration(data.sinceMs)}</span>
        </div>
        {data.pairs.length === 0 ? (
          <Empty title="No conflict.">No two transactions conflicted on a cell.</Empty>
        ) : (
          <ol class="conflicts">
            {data.pairs.map(({ cell, count: times, loser, winner, lastAt, advice }) => (
              <li key={`${cell.table}.${cell.column} ${cell.row} ${loser} ${winner}`}>
                <p class="conflict-count">
                  <b>{count(times)}</b>
                  <meter class="bar" min={0} max={most} value={times} aria-label={`${times} conflicts`} />
                </p>
                <div>
                  <p>
                    <CellLink cell={cell} />
                  </p>
                  <p>
                    <b>{loser}</b> lost to <b>{winner}</b> <span class="faint">last {ago(lastAt, now)}</span>
                  </p>
                  <p class="advice">{advice}</p>
                </div>
              </li>
            ))}
          </ol>
        )}
      </section>
    </>
  );
}
