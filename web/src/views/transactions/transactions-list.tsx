import { useState } from "preact/hooks";
import type { Overview, TransactionShown } from "../../../../src/dashboard/api/index.js";
import { overview } from "../../api/stream.js";
import { count, milliseconds } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { clock, exactClock } from "../../format/times.js";
import { Fold } from "../../parts/fold.js";
import { moveByKeys } from "../../parts/keys.js";
import { Word } from "../../parts/mark.js";
import { RowName } from "../../parts/names.js";
import { Empty, Failed, Loading, NotRenewed, ReachNote } from "../../parts/notices.js";
import { ObserverSelect, Select } from "../../parts/observers-select.js";
import { hashOf, type Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { useAbout } from "../../state/about.js";
import type { Level } from "../../state/health.js";
import { useStore } from "../../state/store.js";
import { type Filter, type SortedBy, sorted, useListed } from "./listed.js";

/** Rows drawn at first. A button shows the others. */
const linesAtFirst = 60;

export const outcomeLevels: Readonly<Record<TransactionShown["outcome"], Level>> = {
  committed: "ok",
  conflict: "warn",
  "rolled back": "bad",
};

/** The lists, each with the column by which it is sorted at first. */
export const lists = {
  recent: { list: "recent", name: "Recent", note: "a sample of the newest, the worst first", by: "outcome" },
  slow: { list: "slow", name: "Slow", note: "the slowest commits of the last five minutes", by: "took" },
  conflicting: { list: "conflicts", name: "Conflicting", note: "the newest that conflicted", by: "ended" },
  failed: { list: "failed", name: "Failed", note: "the newest that failed or were rolled back", by: "ended" },
} as const;

export function TransactionsList({
  route,
  show,
}: {
  readonly route: Route;
  readonly show: keyof typeof lists;
}) {
  const { label = "", observer = "", slower = "", table = "", by } = route.state;
  const { reach } = useAbout();
  const filter = { label, observer, table, slowerThanMs: /^\d+$/.test(slower) ? slower : "" };
  const { list, note, by: usual } = lists[show];
  const { shown, labels, answer, pausedAt, setPaused } = useListed(list, filter);
  const sortedBy = columns.some(([name]) => name === by) ? (by as SortedBy) : usual;
  const isPaused = pausedAt !== undefined;
  return (
    <div class="list">
      <ReachNote reach={reach} of="transactions" />
      <Controls route={route} filter={filter} labels={labels} />
      <section class="panel" aria-labelledby="recent">
        <div class="panel-head">
          <h2 id="recent">{lists[show].name}</h2>
          <span class="faint">{isPaused ? `as they were at ${clock(pausedAt)}` : note}</span>
          <button
            type="button"
            data-pause
            aria-pressed={isPaused}
            // Without an answer, the list would be empty until it goes on.
            disabled={!isPaused && answer.data === undefined}
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? "Go on" : "Pause"}
          </button>
        </div>
        {answer.data === undefined ? null : <NotRenewed error={answer.error} />}
        {isPaused || answer.data !== undefined ? (
          shown.length === 0 ? (
            <None isFiltered={label + observer + filter.slowerThanMs + table !== ""} show={show} />
          ) : (
            <Lines transactions={sorted(shown, sortedBy)} route={route} sortedBy={sortedBy} />
          )
        ) : answer.error !== undefined ? (
          <Failed error={answer.error} retry={answer.reload} />
        ) : (
          <Loading what="transactions" />
        )}
      </section>
    </div>
  );
}

function None({ isFiltered, show }: { readonly isFiltered: boolean; readonly show: keyof typeof lists }) {
  return isFiltered ? (
    <Empty title="No transaction matches.">
      <a href={hashOf("transactions", { show })}>Show all transactions</a>
    </Empty>
  ) : (
    <Empty title="No transaction yet.">Transactions that end while the dashboard runs appear here.</Empty>
  );
}

interface ControlsProps {
  readonly route: Route;
  readonly filter: Filter;
  readonly labels: readonly string[];
}

function Controls({ route, filter, labels }: ControlsProps) {
  const tables = tablesOf(useStore(overview));
  const withAll = (names: readonly string[], chosen: string) =>
    ["", ...new Set(chosen === "" ? names : [...names, chosen])].map(
      (each) => [each, each || "all"] as const,
    );
  return (
    <Fold line={lineOf(filter)}>
      <div class="controls">
        <Select
          label="Label"
          value={filter.label}
          options={withAll(labels, filter.label)}
          onChange={(each) => change(route, { label: each })}
        />
        <ObserverSelect value={filter.observer} onChange={(name) => change(route, { observer: name })} />
        <Select
          label="Table"
          value={filter.table}
          options={withAll(tables, filter.table)}
          onChange={(each) => change(route, { table: each })}
        />
        <label class="field">
          <span>Slower than, ms</span>
          <input
            type="number"
            min={0}
            data-search
            value={filter.slowerThanMs}
            onInput={(event) => change(route, { slower: event.currentTarget.value }, true)}
          />
        </label>
      </div>
    </Fold>
  );
}

/** What the filters let through: `Filters: observer mail, slower than 300 ms`. */
function lineOf({ label, observer, table, slowerThanMs }: Filter): string {
  const set = [
    label && `label ${oneLine(label)}`,
    observer && `observer ${observer}`,
    table && `table ${table}`,
    slowerThanMs && `slower than ${slowerThanMs} ms`,
  ].filter((each) => each !== "");
  return `Filters: ${set.join(", ") || "none"}`;
}

/** Tables that observers watch. */
function tablesOf(now: Overview | undefined): readonly string[] {
  return [...new Set((now?.observers ?? []).map(({ watches }) => watches.split(".", 1)[0]!))];
}

/** The columns by which a list can be sorted. */
const columns: readonly (readonly [by: SortedBy, name: string])[] = [
  ["ended", "Ended"],
  ["outcome", "Outcome"],
  ["took", "Took, ms"],
  ["reads", "Reads"],
  ["cells", "Cells"],
];

function SortHead({
  by,
  sortedBy,
  route,
}: {
  readonly by: SortedBy;
  readonly sortedBy: SortedBy;
  readonly route: Route;
}) {
  const isSorted = by === sortedBy;
  return (
    <th
      scope="col"
      class={by === "ended" || by === "outcome" ? "" : "number"}
      aria-sort={isSorted ? "descending" : undefined}
    >
      <a href={hashOf("transactions", { ...route.state, by })} class={isSorted ? "strong" : ""}>
        {columns.find(([name]) => name === by)![1]}
        {isSorted ? " ↓" : ""}
      </a>
    </th>
  );
}

interface LinesProps {
  readonly transactions: readonly TransactionShown[];
  readonly route: Route;
  readonly sortedBy: SortedBy;
}

function Lines({ transactions, route, sortedBy }: LinesProps) {
  const [isWhole, setWhole] = useState(false);
  const isNarrow = route.state.id !== undefined;
  const lines = isWhole ? transactions : transactions.slice(0, linesAtFirst);
  return (
    <>
      <table class="stack transactions" onKeyDown={moveByKeys}>
        <thead>
          <tr>
            <SortHead by="ended" sortedBy={sortedBy} route={route} />
            <SortHead by="outcome" sortedBy={sortedBy} route={route} />
            <th scope="col">What</th>
            {isNarrow ? null : <th scope="col">Because of</th>}
            <SortHead by="took" sortedBy={sortedBy} route={route} />
            {isNarrow ? null : (
              <>
                <SortHead by="reads" sortedBy={sortedBy} route={route} />
                <SortHead by="cells" sortedBy={sortedBy} route={route} />
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
    // The link in the row does the same for the keyboard.
    <tr class={isChosen ? "chosen opens" : "opens"} onClick={(event) => open(event, route, id)}>
      <th scope="row" class="time">
        <a
          data-row
          href={hashOf("transactions", { ...route.state, id })}
          aria-current={isChosen ? "true" : undefined}
        >
          {exactClock(endedAt)}
        </a>
      </th>
      <td data-label="Outcome" class="outcome">
        <Word level={outcomeLevels[outcome]}>{outcome}</Word>
      </td>
      <td data-label="What" class="what">
        <WhatRan transaction={transaction} />
        {transaction.error === undefined ? null : (
          <span class="sub error-text">{oneLine(transaction.error)}</span>
        )}
      </td>
      {isNarrow ? null : (
        <td data-label="Because of" class={cause === undefined ? "cause none" : "cause"}>
          {cause === undefined ? <span class="absent">–</span> : <RowName row={cause.cell.row} />}
        </td>
      )}
      <td data-label="Took, ms" class="number took">
        {milliseconds(durationMs)}
      </td>
      {isNarrow ? null : (
        <>
          <td data-label="Reads" class="number">
            {count(reads)}
          </td>
          <td data-label="Cells" class="number">
            {count(cells)}
          </td>
          <td data-label="Phases" class="phases">
            {phases === undefined ? "–" : phases === 1 ? "one" : "two"}
          </td>
        </>
      )}
    </tr>
  );
}

/** Opens the details of a row. A click on a link in the row does what the link says. */
function open(event: MouseEvent, route: Route, id: string): void {
  if ((event.target as Element).closest("a") === null) change(route, { id });
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
