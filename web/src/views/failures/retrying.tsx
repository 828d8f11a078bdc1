import type { Retrying, RetryingGroupShown, RetryingShown } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { bounded, count, counted, moreThan } from "../../format/numbers.js";
import { errorLine } from "../../format/text.js";
import { ago, clock, dateTime, until } from "../../format/times.js";
import { moveByKeys } from "../../parts/keys.js";
import { CellLink } from "../../parts/names.js";
import { NotRenewed } from "../../parts/notices.js";
import { hashOf, type Route } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";

const everyMs = 5_000;

/** Changes that failed and are tried again, in groups with one kind of error. Nothing if there are none. */
export function RetryingGroups({ route }: { readonly route: Route }) {
  const { observer = "", text = "" } = route.state;
  const { data, error } = useApi<Retrying>(apiPath("retrying", { observer, text }), everyMs, false);
  const { now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  // The list of parked changes above says why the store cannot be read, and tries again.
  if (error !== undefined && data === undefined)
    return <p class="note">What is tried again could not be read: {error.message}</p>;
  if (data === undefined || data.groups.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="retrying">
      <div class="panel-head">
        <h2 id="retrying">Tried again</h2>
        <span class="faint">
          {moreThan(data.total, "change")} in {counted(data.groups.length, "kind of error", "kinds of error")}
          {data.others === 0 ? "" : `; ${count(data.others)} more of other kinds`}. They run again by
          themselves, and are parked after their last attempt.
        </span>
      </div>
      <NotRenewed error={error} />
      <ul class="parked retrying" onKeyDown={moveByKeys}>
        {data.groups.map((group) => (
          <Group key={group.id} group={group} isBound={data.total.isBound} now={now} />
        ))}
      </ul>
    </section>
  );
}

interface GroupProps {
  readonly group: RetryingGroupShown;
  /** Whether the group may have more changes than were counted. */
  readonly isBound: boolean;
  readonly now: number;
}

function Group({ group, isBound, now }: GroupProps) {
  const { observer, message, count: times, firstAt, lastAt, newest } = group;
  const shown = bounded({ count: times, isBound });
  return (
    <li data-retrying={message}>
      <div class="parked-head">
        <b class="parked-count">{shown}</b>
        <a class="strong" href={hashOf("pipeline", { node: `observer:${observer}` })}>
          {observer}
        </a>
        <span class="faint" title={`${dateTime(firstAt)} to ${dateTime(lastAt)}`}>
          newest change {ago(lastAt, now)} · oldest {clock(firstAt)}, {ago(firstAt, now)}
        </span>
        <span class="actions">
          <a class="button" href={hashOf("transactions", { show: "failed", observer })}>
            Failed runs
          </a>
        </span>
      </div>
      <details>
        <summary data-row class="error-text">
          {errorLine(message)}
        </summary>
        <p class="faint">{times > newest.length ? `The newest ${newest.length} of ${shown}.` : null}</p>
        <ul class="examples">
          {newest.map((change) => (
            <Example key={`${change.table} ${change.column} ${change.row}`} change={change} now={now} />
          ))}
        </ul>
      </details>
    </li>
  );
}

function Example({ change, now }: { readonly change: RetryingShown; readonly now: number }) {
  const { attempts, changedAt, nextAt, error } = change;
  return (
    <li>
      <div class="parked-head">
        <CellLink cell={change} />
        <span class="faint" title={dateTime(changedAt)}>
          {counted(attempts, "attempt")} · changed {ago(changedAt, now)} ·{" "}
          {nextAt === undefined || nextAt <= now ? "is due now" : `runs again ${until(nextAt, now)}`}
        </span>
      </div>
      <p class="error-text">{errorLine(error)}</p>
    </li>
  );
}
