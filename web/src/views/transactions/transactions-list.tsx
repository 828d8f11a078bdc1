import { useState } from "preact/hooks";
import type { Overview, TransactionShown } from "../../../../src/dashboard/api.js";
import { overview } from "../../api/stream.js";
import { count } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { clock, duration, exactClock } from "../../format/times.js";
import { moveByKeys } from "../../parts/keys.js";
import { Word } from "../../parts/mark.js";
import { Empty, Failed, Loading, ReachNote } from "../../parts/notices.js";
import { ObserverSelect, Select } from "../../parts/observers-select.js";
import { SearchField } from "../../parts/search-field.js";
import { hashOf, type Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { useAbout } from "../../state/about.js";
import type { Level } from "../../state/health.js";
import { useStore } from "../../state/store.js";
import { type Filter, maxKept } from "./kept.js";
import { useRecent } from "./recent.js";

/** Rows drawn at first. A button shows the others. */
const linesAtFirst = 60;

export const outcomeLevels: Readonly<Record<TransactionShown["outcome"], Level>> = {
  committed: "ok",
  conflict: "warn",
  "rolled back": "bad",
};

const outcomes = [["", "all"], ...Object.keys(outcomeLevels).map((each) => [each, each] as const)] as const;

export function TransactionsList({ route }: { readonly route: Route }) {
  const { label = "", observer = "", outcome = "", table = "" } = route.state;
  const { reach } = useAbout();
  const [isPaused, setPaused] = useState(false);
  const { shown, held, answer } = useRecent({ label, observer, outcome, table }, isPaused);
  return (
    <div class="list">
      <ReachNote reach={reach} of="transactions" />
      <Controls route={route} filter={{ label, observer, outcome, table }} />
      <section class="panel" aria-labelledby="recent">
        <div class="panel-head">
          <h2 id="recent">Recent</h2>
          <span class="faint">
            the newest {count(maxKept)} at most{table === "" ? "" : ", updated every two seconds"}
          </span>
          <button type="button" data-pause aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused
              ? `Go on${held === 0 ? "" : ` (${held >= maxKept ? `${maxKept}+` : held} new)`}`
              : "Pause"}
          </button>
        </div>
        {answer.error !== undefined ? (
          <Failed error={answer.error} retry={answer.reload} />
        ) : answer.data === undefined ? (
          <Loading what="transactions" />
        ) : shown.length === 0 ? (
          <None isFiltered={label + observer + outcome + table !== ""} />
        ) : (
          <Lines transactions={shown} route={route} />
        )}
      </section>
    </div>
  );
}

function None({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No transaction matches.">
      <a href={hashOf("transactions")}>Show all transactions</a>
    </Empty>
  ) : (
    <Empty title="No transaction yet.">Transactions that end while the dashboard runs appear here.</Empty>
  );
}

function Controls({ route, filter }: { readonly route: Route; readonly filter: Filter }) {
  const tables = tablesOf(useStore(overview));
  const all = filter.table === "" || tables.includes(filter.table) ? tables : [...tables, filter.table];
  return (
    <div class="controls">
      <SearchField
        label="Label"
        value={filter.label}
        placeholder="as given to db.transact"
        onChange={(text) => change(route, { label: text }, true)}
      />
      <ObserverSelect value={filter.observer} onChange={(name) => change(route, { observer: name })} />
      <Select
        label="Outcome"
        value={filter.outcome}
        options={outcomes}
        onChange={(each) => change(route, { outcome: each })}
      />
      <Select
        label="Table"
        value={filter.table}
        options={[["", "all"], ...all.map((each) => [each, each] as const)]}
        onChange={(each) => change(route, { table: each })}
      />
    </div>
  );
}

/** Tables that observers watch. */
function tablesOf(now: Overview | undefined): readonly string[] {
  return [...new Set((now?.observers ?? []).map(({ watches }) => watches.split(".", 1)[0]!))];
}

function Lines({
  transactions,
  route,
}: {
  readonly transactions: readonly TransactionShown[];
  readonly route: Route;
}) {
  const [isWhole, setWhole] = useState(false);
  const isNarrow = route.state.id !== undefined;
  const lines = isWhole ? transactions : transactions.slice(0, linesAtFirst);
  return (
    <>
      <table class="stack transactions" onKeyDown={moveByKeys}>
        <thead>
          <tr>
            <th scope="col">Ended</th>
            <th scope="col">Outcome</th>
            <th scope="col">What</th>
            {isNarrow ? null : <th scope="col">Because of</th>}
            <th scope="col" class="number">
              Took
            </th>
            {isNarrow ? null : (
              <>
                <th scope="col" class="number">
                  Reads
                </th>
                <th scope="col" class="number">
                  Cells
                </th>
                <th scope="col">Phases</th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {lines.map((transaction) => (
            <Line key={transaction.id} transaction={transaction} route={route} isNarrow={isNarrow} />
          ))}
        </tbody>
      </table>
      {lines.length === transactions.length ? null : (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show all {count(transactions.length)}
        </button>
      )}
    </>
  );
}

interface LineProps {
  readonly transaction: TransactionShown;
  readonly route: Route;
  /** Whether the panel of one transaction is open. */
  readonly isNarrow: boolean;
}

function Line({ transaction, route, isNarrow }: LineProps) {
  const { id, outcome, endedAt, cause, durationMs, reads, cells, phases } = transaction;
  const isChosen = route.state.id === id;
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <th scope="row" class="time">
        <a
          data-row
          href={hashOf("transactions", { ...route.state, id })}
          title={exactClock(endedAt)}
          aria-current={isChosen ? "true" : undefined}
        >
          {clock(endedAt)}
        </a>
      </th>
      <td data-label="Outcome">
        <Word level={outcomeLevels[outcome]}>{outcome}</Word>
      </td>
      <td data-label="What">
        <WhatRan transaction={transaction} />
      </td>
      {isNarrow ? null : (
        <td data-label="Because of" class="cause">
          {cause === undefined ? <span class="absent">–</span> : <bdi>{oneLine(cause.cell.row)}</bdi>}
        </td>
      )}
      <td data-label="Took" class="number">
        {duration(durationMs)}
      </td>
      {isNarrow ? null : (
        <>
          <td data-label="Reads" class="number">
            {count(reads)}
          </td>
          <td data-label="Cells" class="number">
            {count(cells)}
          </td>
          <td data-label="Phases">{phases === undefined ? "–" : phases === 1 ? "one" : "two"}</td>
        </>
      )}
    </tr>
  );
}

/** The observer that ran, the label, or `transaction`. */
export function WhatRan({ transaction: { observer, label } }: { readonly transaction: TransactionShown }) {
  if (observer !== undefined)
    return (
      <>
        <span class="tag">run</span> <span class="run-name">{observer}</span>
      </>
    );
  return label === undefined ? <span class="faint">transaction</span> : <span>{oneLine(label)}</span>;
}
