import type { AttachedOverview, ObserverOverview, Overview } from "../../../../src/dashboard/api/index.js";
import { ago, clock } from "../../format/times.js";
import { Word } from "../../parts/mark.js";
import { SinceText } from "../../parts/since-text.js";
import { hashOf } from "../../routing/route.js";
import {
  healthOfAttached,
  type Problem,
  problemsOf,
  worstAttachedFirst,
  worstFirst,
} from "../../state/health.js";
import { past, sinceOf } from "../../state/past.js";
import { useStore } from "../../state/store.js";

/** What is wrong, since when, how bad it is, and what to do. Shows nothing if nothing is wrong. */
export function Wrong({ now }: { readonly now: Overview }) {
  const observers = worstFirst(now.observers).filter((observer) => problemsOf(observer).length > 0);
  const attached = worstAttachedFirst(now.attached).filter((table) => healthOfAttached(table).level !== "ok");
  const { silent } = now;
  if (observers.length === 0 && attached.length === 0 && silent.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="wrong">
      <div class="panel-head">
        <h2 id="wrong">What is wrong</h2>
      </div>
      <ul class="wrong">
        {silent.map(({ session, process, lastHeartbeatAt, exists }) => (
          <li key={session} data-wrong={process}>
            <b class="mono">{process}</b>
            <p>
              <Word level={exists === false ? "idle" : "bad"}>{exists === false ? "ended" : "silent"}</Word>{" "}
              <b>since {clock(lastHeartbeatAt)}</b>, {ago(lastHeartbeatAt, now.now)}.{" "}
              {exists === false
                ? "The process has ended without closing its database. Others have taken over its work."
                : `Its heartbeats have ended${exists ? ", but the process still exists: it is stopped, or blocked by its own code" : ""}.`}
            </p>
            <p class="remedy">
              <a href={hashOf("workers")}>
                {exists === false ? "See its successors." : "Continue it, or end it."}
              </a>
            </p>
          </li>
        ))}
        {attached.map((table) => (
          <AttachedTable key={table.source} table={table} now={now.now} />
        ))}
        {observers.map((observer) => (
          <Observer key={observer.name} observer={observer} now={now.now} />
        ))}
      </ul>
    </section>
  );
}

function AttachedTable({ table, now }: { readonly table: AttachedOverview; readonly now: number }) {
  const { source, name, problemSince } = table;
  const { level, word, why, remedy } = healthOfAttached(table);
  return (
    <li data-wrong={source}>
      <a class="strong" href={hashOf("data", { table: name })}>
        {source}
      </a>
      <p>
        <Word level={level}>{word}</Word>{" "}
        {problemSince === undefined ? null : (
          <>
            <b>since {clock(problemSince)}</b>, {ago(problemSince, now)}.{" "}
          </>
        )}
        {why}
      </p>
      <p class="remedy">{remedy}</p>
    </li>
  );
}

function Observer({ observer, now }: { readonly observer: ObserverOverview; readonly now: number }) {
  const { name } = observer;
  return (
    <li data-wrong={name}>
      <a class="strong" href={hashOf("pipeline", { node: `observer:${name}` })}>
        {name}
      </a>
      {problemsOf(observer).map((problem) => (
        <Line key={problem.kind} name={name} problem={problem} now={now} />
      ))}
    </li>
  );
}

/** The list of transactions that shows a problem. */
const lists: Readonly<Partial<Record<Problem["kind"], { readonly show: string }>>> = {
  late: { show: "slow" },
  behind: { show: "slow" },
};

function Line({
  name,
  problem,
  now,
}: {
  readonly name: string;
  readonly problem: Problem;
  readonly now: number;
}) {
  const { level, word, why, remedy, lookAt, kind } = problem;
  const since = sinceOf(useStore(past), name, kind);
  return (
    <>
      <p>
        <Word level={level}>{word}</Word>{" "}
        {since === undefined ? null : (
          <>
            <SinceText since={since} />, {ago(since.at, now)}.{" "}
          </>
        )}
        {why}
      </p>
      <p class="remedy">
        <a
          href={hashOf(lookAt, {
            ...(lookAt === "transactions" ? lists[kind] : {}),
            observer: lookAt === "workers" ? undefined : name,
          })}
        >
          {remedy}
        </a>
      </p>
    </>
  );
}
