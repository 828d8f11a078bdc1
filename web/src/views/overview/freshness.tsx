import type { ObserverOverview, Overview } from "../../../../src/dashboard/api/index.js";
import { bounded, none, rate } from "../../format/numbers.js";
import { duration } from "../../format/times.js";
import { trend } from "../../format/trend.js";
import { moveByKeys } from "../../parts/keys.js";
import { Word } from "../../parts/mark.js";
import { Empty } from "../../parts/notices.js";
import { Sparkline } from "../../parts/sparkline.js";
import { hashOf } from "../../routing/route.js";
import { healthOf, problemsOf, worstFirst } from "../../state/health.js";
import { past } from "../../state/past.js";
import { useStore } from "../../state/store.js";
import { FreshnessScale } from "./freshness-scale.js";

/** Each observer: how old its waiting changes are, and how long finished ones took. */
export function Freshness({ now }: { readonly now: Overview }) {
  if (now.observers.length === 0)
    return (
      <Empty title="No observer is registered.">
        Open the database with observers, or run <code>percolator worker LOCATION APP</code>; they appear
        here.
      </Empty>
    );
  return (
    <section class="panel" aria-labelledby="freshness">
      <div class="panel-head">
        <h2 id="freshness">Freshness</h2>
        <p class="faint">from a change's commit to its run's, over the last minutes</p>
      </div>
      <table class="stack freshness" onKeyDown={moveByKeys}>
        <thead>
          <tr>
            <th scope="col">Observer</th>
            <th scope="col">State</th>
            <th scope="col" class="number" title="Age of the oldest waiting change">
              Oldest waits
            </th>
            <th scope="col">Delay, 1 ms – 1 h</th>
            <th scope="col" class="number">
              p50
            </th>
            <th scope="col" class="number">
              p99
            </th>
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col" class="number">
              Parked
            </th>
            <th scope="col" class="number">
              Runs/s
            </th>
            <th scope="col" class="number">
              Failures/s
            </th>
            <th scope="col" class="number">
              Conflicts/s
            </th>
            <th scope="col" class="number">
              Hosts
            </th>
          </tr>
        </thead>
        <tbody>
          {worstFirst(now.observers).map((observer) => (
            <ObserverRow key={observer.name} observer={observer} isHeard={now.reach !== "store"} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** If fewer changes wait, their number only wavers. */
const fewWait = 100;

function ObserverRow({
  observer,
  isHeard,
}: {
  readonly observer: ObserverOverview;
  readonly isHeard: boolean;
}) {
  const { name, watches, delay, pending, parked, oldestPendingMs, hosts } = observer;
  const { level, word, why } = healthOf(observer);
  const problems = problemsOf(observer);
  const how = pending.count < fewWait ? "" : trend(observer.growthPerSecond, pending);
  const waitsMs = pending.count === 0 ? undefined : oldestPendingMs;
  const heard = (perSecond: number) => (isHeard ? rate(perSecond) : none);
  return (
    <tr class={level} data-observer={name}>
      <th scope="row">
        <a data-row href={hashOf("pipeline", { node: `observer:${name}` })}>
          {name}
        </a>
        <span class="sub">{watches}</span>
      </th>
      <td data-label="State" class="states" title={why}>
        {problems.length === 0 ? <Word level={level}>{word}</Word> : null}
        {problems.map((problem) => (
          <Word key={problem.kind} level={problem.level}>
            {problem.word}
          </Word>
        ))}
      </td>
      <td data-label="Oldest waits" class="number strong">
        <span class="with-spark">
          <OldestLine name={name} />
          {waitsMs === undefined ? none : duration(waitsMs)}
        </span>
      </td>
      <td class="scale-cell" data-label="Delay, 1 ms – 1 h">
        <FreshnessScale p50Ms={delay.p50Ms} p99Ms={delay.p99Ms} oldestMs={waitsMs} level={level} />
      </td>
      <td data-label="p50" class="number">
        {duration(delay.p50Ms)}
      </td>
      <td data-label="p99" class="number">
        {duration(delay.p99Ms)}
      </td>
      <td data-label="Waiting" class="number">
        {bounded(pending)}
        {how === "" ? null : <span class="sub">{how}</span>}
      </td>
      <td data-label="Parked" class="number">
        {parked.count === 0 ? "0" : <a href={hashOf("failures", { observer: name })}>{bounded(parked)}</a>}
      </td>
      <td data-label="Runs/s" class="number">
        {heard(observer.runsPerSecond)}
      </td>
      <td data-label="Failures/s" class={`number ${observer.failuresPerSecond > 0 ? "warn-text" : ""}`}>
        {heard(observer.failuresPerSecond)}
      </td>
      <td data-label="Conflicts/s" class="number">
        {heard(observer.conflictsPerSecond)}
      </td>
      <td data-label="Hosts" class="number">
        {hosts}
      </td>
    </tr>
  );
}

/** The age of the oldest change over the last hour. */
function OldestLine({ name }: { readonly name: string }) {
  const moments = useStore(past);
  const points = moments.map(({ at, observers }) => [at, observers[name]?.[1]] as const);
  if (!points.some(([, value]) => value !== undefined && value > 0)) return null;
  return (
    <Sparkline
      points={points}
      width={56}
      height={16}
      label={`Age of the oldest change of ${name} over the last hour`}
    />
  );
}
