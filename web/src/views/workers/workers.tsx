import type { Workers } from "../../../../src/dashboard/api.js";
import { apiPath } from "../../api/client.js";
import { useApi } from "../../api/use-api.js";
import { bytes, count, none, rate } from "../../format/numbers.js";
import { shortId } from "../../format/text.js";
import { moveByKeys } from "../../parts/keys.js";
import { Mark } from "../../parts/mark.js";
import { Empty, Failed, Loading, ReachNote } from "../../parts/notices.js";
import { ViewHead } from "../../parts/view-head.js";
import type { Route } from "../../routing/route.js";
import { KeySpace } from "./key-space.js";

const everyMs = 2_000;

export function WorkersView({ route }: { readonly route: Route }) {
  const { data, error, reload } = useApi<Workers>(apiPath("workers"), everyMs);
  return (
    <div class="view">
      <ViewHead title="Workers and key space" commands={[{ command: "status" }]}>
        The processes that run observers, their activity, and where in the tables it happens.
      </ViewHead>
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
  return (
    <>
      <ReachNote reach={reach} of="workers" />
      {unheard.map(({ name, error }) => (
        <p key={name} class="note reach">
          <Mark level="warn" /> {name} did not report what it has seen: {error}
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
          <table class="stack" onKeyDown={moveByKeys}>
            <thead>
              <tr>
                <th scope="col">Session</th>
                <th scope="col">Process</th>
                <th scope="col">Observers</th>
                <th scope="col" class="number">
                  Runs/s
                </th>
                <th scope="col" class="number">
                  Commits/s
                </th>
                <th scope="col" class="number">
                  Running
                </th>
                <th scope="col" class="number">
                  Claims
                </th>
                <th scope="col" class="number">
                  Memory
                </th>
              </tr>
            </thead>
            <tbody>
              {sessions.map((session) => (
                <SessionRow key={session.session} session={session} />
              ))}
            </tbody>
          </table>
        )}
      </section>
    </>
  );
}

function SessionRow({ session }: { readonly session: Workers["sessions"][number] }) {
  const { process, observers, isHere, runsPerSecond, commitsPerSecond, running, claims, memoryBytes } =
    session;
  return (
    <tr>
      <th scope="row" class="mono">
        <span data-row tabIndex={-1} title={session.session}>
          {shortId(session.session)}
        </span>
        {isHere ? <span class="tag accent here">here</span> : null}
      </th>
      <td data-label="Process">{process}</td>
      <td data-label="Observers" class="observer-names">
        {observers.length === 0 ? <span class="absent">none</span> : observers.join(", ")}
      </td>
      <Known label="Runs/s" value={runsPerSecond} as={rate} />
      <Known label="Commits/s" value={commitsPerSecond} as={rate} />
      <Known label="Running" value={running} as={count} />
      <Known label="Claims" value={claims} as={count} />
      <Known label="Memory" value={memoryBytes} as={bytes} />
    </tr>
  );
}

/** A figure of a process. A process that does not report to this dashboard has none. */
function Known({
  label,
  value,
  as,
}: {
  label: string;
  value: number | undefined;
  as: (value: number) => string;
}) {
  return (
    <td
      data-label={label}
      class="number"
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
