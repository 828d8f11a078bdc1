import type { CellHistory } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { useRowChanges } from "../../api/use-row-changes.js";
import { count } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { ago, dateTime } from "../../format/times.js";
import { LongValue } from "../../parts/names.js";
import { Empty, Failed, Loading } from "../../parts/notices.js";
import { hashOf, type Route } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";
import { WrittenBy } from "./written-by.js";

interface Props {
  readonly route: Route;
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/** The versions of a cell, newest first. */
export function HistoryPanel({ route, table, row, column }: Props) {
  const { data, error, reload } = useApi<CellHistory>(apiPath("history", { table, row, column }));
  useRowChanges(table, row, reload);
  const { now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  if (error !== undefined) return <Failed error={error} retry={reload} />;
  if (data === undefined) return <Loading what="the history" />;
  if (data.versions.length === 0)
    return (
      <Empty title="The cell has no version.">
        It was never written, or garbage collection removed its versions.
      </Empty>
    );
  return (
    <>
      <p class="note">
        Versions of <b>{oneLine(column)}</b> that garbage collection has not removed.
      </p>
      <ol class="versions">
        {data.versions.map(({ commitTimestamp, startTimestamp, at, value, writer }) => (
          <li key={commitTimestamp}>
            <p class="version-head">
              <time dateTime={new Date(at).toISOString()}>{dateTime(at)}</time>{" "}
              <span class="faint">{ago(at, now)}</span>
              <a href={hashOf("data", { ...route.state, table, at: commitTimestamp, show: undefined })}>
                Show the row at this time
              </a>
            </p>
            <p class="written-by">
              <WrittenBy writer={writer} />
            </p>
            {value === undefined ? <p class="deleted">deleted</p> : <LongValue value={value} />}
            <p class="faint timestamps">
              commit {commitTimestamp} · start {startTimestamp}
            </p>
          </li>
        ))}
      </ol>
      {data.isCut ? (
        <p class="note" data-cut>
          These are the newest {count(data.versions.length)}. <code>percolator history</code> prints the older
          ones too.
        </p>
      ) : null}
    </>
  );
}
