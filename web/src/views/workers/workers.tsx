import type { Workers } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { bytes, count, counted, none, rate } from "../../format/numbers.js";
import { shortId } from "../../format/text.js";
import { ago, clock, duration } from "../../format/times.js";
import { moveByKeys } from "../../parts/keys.js";
import { Mark, Word } from "../../parts/mark.js";
import { Empty, Failed, Loading, NotRenewed, ReachNote } from "../../parts/notices.js";
import { ViewHead } from "../../parts/view-head.js";
import type { Route } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";
import { KeySpace } from "./key-space.js";

const everyMs = 2_000;

export function WorkersView({ route }: { readonly route: Route }) {
  const { data, error, reload } = useApi<Workers>(apiPath("workers"), everyMs);
  return (
    <div class="view">
      <ViewHead title="Workers and key space" commands={[{ command: "status" }]}>
        Which processes run observers and how they do, and where in the tables their work is.
      </ViewHead>
      {data === undefined ? null : <NotRenewed error={error} />}
      {error !== undefined && data === undefined ? <Failed error={error} retry={reload} /> : null}
      {data === undefined ? error === undefined && <Loading what="workers" /> : <Sessions workers={data} />}
      <KeySpace route={route} />
    </div>
  );
}

function Sessions({
  workers: { reach, sessions, coordinator, unheard = [] },
}: {
  readonly workers: Workers;
}) {
  const { now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  return (
    <>
      <ReachNote reach={reach} of="workers" />
      {unheard.map(({ name, error }) => (
        <p key={name} class="note reach">
          <Mark level="warn" /> {error.includes(name) ? error : `${name}: ${error}`} Until it answers, what it
          has seen is missing here.
        </p>
      ))}
      <section class="panel" aria-labelledby="sessions">
        <div class="panel-head">
          <h2 id="sessions">Sessions</h2>
          <CoordinatorLine coordinator={coordinator} />
        </div>
        {sessions.length === 0 ? (
          <Empty title="No process runs observers.">
            Committed changes wait until one does: <code>percolator worker LOCATION APP</code>
          </Empty>
        ) : (
          <div class="table-scroll" tabIndex={0} role="region" aria-label="Processes and their figures">
            <table class="stack sessions" onKeyDown={moveByKeys}>
              <thead>
                <tr>
                  <th scope="col">Session</th>
                  <th scope="col">Process</th>
                  <th scope="col">Observers</th>
                  {figures.map((name) => (
                    <th key={name} scope="col" class="number">
                      {name}
                    </th>
                  ))}
                  <th scope="col">Version</th>
                </tr>
              </thead>
              <tbody>
                {sessions.map((session) => (
                  <SessionRow key={session.session} session={session} now={now} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
    </>
  );
}

const figures = [
  "Runs/s",
  "Commits/s",
  "Running",
  "Claims",
  "CPU",
  "Loop delay",
  "Memory",
  "Up",
  "Clock",
] as const;

/** An event loop that is blocked for this long delays heartbeats and every run, in milliseconds. */
const blockedMs = 500;
/** If a process runs more observers, their names are closed at first. */
const maxNames = 20;
/** A clock that is wrong by more than this is worth a look, in milliseconds. Less cannot be told. */
const clockMs = 2_500;

function SessionRow({
  session: each,
  now,
}: {
  readonly session: Workers["sessions"][number];
  readonly now: number;
}) {
  const { session, process, observers, isHere, isLive, exists, lastHeartbeatAt, vitals, clockOffsetMs } =
    each;
  return (
    <tr class={isLive ? "" : "bad"} data-session={process}>
      <th scope="row" class="mono">
        <span data-row tabIndex={-1} title={session}>
          {shortId(session)}
        </span>
        {isHere ? <span class="tag accent here">here</span> : null}
      </th>
      <td data-label="Process" class="process">
        {process}
        {isLive ? null : (
          <span class="sub">
            <Word level={exists === false ? "idle" : "bad"}>{exists === false ? "ended" : "silent"}</Word>{" "}
            last heartbeat {clock(lastHeartbeatAt)}, {ago(lastHeartbeatAt, now)}
            {exists ? "; the process exists: stopped or blocked. Continue it, or end it." : ""}
          </span>
        )}
      </td>
      <td data-label="Observers" class="observer-names">
        {observers.length === 0 ? (
          <span class="absent">none</span>
        ) : observers.length <= maxNames ? (
          observers.join(", ")
        ) : (
          <details>
            <summary>{counted(observers.length, "observer")}</summary>
            {observers.join(", ")}
          </details>
        )}
      </td>
      <Known label="Runs/s" value={each.runsPerSecond} as={rate} />
      <Known label="Commits/s" value={each.commitsPerSecond} as={rate} />
      <Known label="Running" value={each.running} as={count} />
      <Known label="Claims" value={each.claims} as={count} />
      <Known label="CPU" value={vitals?.cpuShare} as={percent} />
      <Known label="Loop delay" value={vitals?.loopDelayMs} as={duration} isBad={(ms) => ms >= blockedMs} />
      <Known label="Memory" value={vitals?.memoryBytes ?? each.memoryBytes} as={bytes} />
      <Known label="Up" value={vitals?.upMs} as={duration} />
      <Known label="Clock" value={clockOffsetMs} as={offset} isBad={(ms) => Math.abs(ms) >= clockMs} />
      <td data-label="Version" class={vitals === undefined ? "none" : ""}>
        {vitals?.version ?? none}
      </td>
    </tr>
  );
}

const percent = (share: number) => `${Math.round(100 * share)} %`;
const offset = (ms: number) =>
  Math.abs(ms) < clockMs ? "in step" : `${ms > 0 ? "+" : "-"}${duration(Math.abs(ms))}`;

/** A figure of a process. A process that does not report to this dashboard has none. */
function Known({
  label,
  value,
  as,
  isBad = () => false,
}: {
  label: string;
  value: number | undefined;
  as: (value: number) => string;
  isBad?: (value: number) => boolean;
}) {
  const state = value === undefined ? "none" : isBad(value) ? "warn-text" : "";
  return (
    <td
      data-label={label}
      class={`number ${state}`}
      title={value === undefined ? "This process does not report to this dashboard." : undefined}
    >
      {value === undefined ? none : as(value)}
    </td>
  );
}

function CoordinatorLine({ coordinator }: { readonly coordinator: Workers["coordinator"] }) {
  if (coordinator === undefined) return <span class="faint">no coordinator is needed here</span>;
  const { address, answers } = coordinator;
  return (
    <span>
      <Mark level={answers ? "ok" : "bad"} /> coordinator {address ?? "of unknown address"}{" "}
      {answers ? "answers" : "does not answer"}
    </span>
  );
}
