import type { ComponentChildren } from "preact";
import type { CellName, TransactionDetail, TransactionShown } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { useApi } from "../../api/use-api.js";
import { count, milliseconds } from "../../format/numbers.js";
import { columnName, oneLine } from "../../format/text.js";
import { dateTime, exactClock } from "../../format/times.js";
import { CloseButton } from "../../parts/close-button.js";
import { Word } from "../../parts/mark.js";
import { CellLink } from "../../parts/names.js";
import { Failed, Loading } from "../../parts/notices.js";
import { Command } from "../../parts/view-head.js";
import { hashOf, type Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { seenTransaction } from "./listed.js";
import { Timeline } from "./timeline.js";
import { outcomeLevels, WhatRan } from "./transactions-list.js";

/** One transaction: its timeline, what caused it, and what it caused. */
export function TransactionPanel({ id, route }: { readonly id: string; readonly route: Route }) {
  const { data: known, error, reload } = useApi<TransactionDetail>(apiPath("transaction", { id }));
  // A paused list may show transactions that the server has already forgotten.
  const seen = known === undefined && error?.status === 404 ? seenTransaction(id) : undefined;
  const data = known ?? (seen && { ...seen, ...nothingMore });
  return (
    <section class="panel transaction-panel" aria-labelledby="transaction">
      <div class="panel-head">
        <h2 id="transaction">{data === undefined ? "Transaction" : <WhatRan transaction={data} />}</h2>
        {data === undefined ? null : <Word level={outcomeLevels[data.outcome]}>{data.outcome}</Word>}
        <CloseButton onClose={() => change(route, { id: undefined })} />
      </div>
      {error !== undefined && data === undefined ? (
        <Failed error={error} retry={reload} />
      ) : data === undefined ? (
        <Loading what="the transaction" />
      ) : (
        <>
          {seen === undefined ? null : (
            <p class="note reach" data-forgotten>
              Its process no longer keeps its steps and cells. This is what the list has shown.
            </p>
          )}
          <Detail transaction={data} route={route} />
        </>
      )}
    </section>
  );
}

const nothingMore = { spans: [], read: [], written: [], causedBy: undefined, caused: [] } as const;

function Detail({ transaction, route }: { readonly transaction: TransactionDetail; readonly route: Route }) {
  const { startTimestamp, commitTimestamp, endedAt, durationMs, process, phases, label, error } = transaction;
  return (
    <>
      {error === undefined ? null : <pre class="error-text">{error}</pre>}
      <Timeline transaction={transaction} />
      <dl class="pairs">
        <Pair name="Took">{`${milliseconds(durationMs)} ms`}</Pair>
        <Pair name="Ended">{`${dateTime(endedAt)}${exactClock(endedAt).slice(8)}`}</Pair>
        <Pair name="Start">{String(startTimestamp)}</Pair>
        <Pair name="Commit">{commitTimestamp === undefined ? "–" : String(commitTimestamp)}</Pair>
        <Pair name="Phases">{phases === undefined ? "–" : phases === 1 ? "one" : "two"}</Pair>
        <Pair name="Process">{process}</Pair>
        {label === undefined ? null : <Pair name="Label">{oneLine(label)}</Pair>}
      </dl>
      <ConflictOf transaction={transaction} route={route} />
      <Causes transaction={transaction} route={route} />
      <Cells title="Wrote" cells={transaction.written} of={transaction.cells}>
        <HistoryCommand cell={transaction.written[0]} />
      </Cells>
      <Cells title="Read" cells={transaction.read} of={transaction.reads} />
    </>
  );
}

function Pair({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function ConflictOf({
  transaction: { conflict },
  route,
}: {
  readonly transaction: TransactionDetail;
  readonly route: Route;
}) {
  if (conflict === undefined) return null;
  const { cell, winner, winnerTimestamp } = conflict;
  return (
    <div class="part">
      <h3>Conflict</h3>
      <p>
        {cell === undefined ? "On an unknown cell" : <CellLink cell={cell} />}, with{" "}
        {oneLine(winner ?? "another transaction")}
        {winnerTimestamp === undefined ? "" : ` of ${winnerTimestamp}`}.{" "}
        <a href={hashOf("transactions", { ...route.state, id: undefined, show: "conflicts" })}>
          Conflicts ranked
        </a>
      </p>
    </div>
  );
}

/** The cause and the effects of a transaction, as links. */
function Causes({ transaction, route }: { readonly transaction: TransactionDetail; readonly route: Route }) {
  const { cause, causedBy, caused } = transaction;
  return (
    <>
      <div class="part">
        <h3>Caused by</h3>
        {cause === undefined ? (
          <p class="faint">No change: the program began it.</p>
        ) : (
          <p>
            <CellLink cell={cause.cell} />, committed at {cause.commitTimestamp}
            {causedBy === undefined ? (
              <span class="faint"> by a transaction that is no longer remembered.</span>
            ) : (
              " by"
            )}
          </p>
        )}
        {causedBy === undefined ? null : <TransactionLink transaction={causedBy} route={route} />}
      </div>
      <div class="part">
        <h3>Caused</h3>
        {caused.length === 0 ? (
          <p class="faint">No remembered run.</p>
        ) : (
          caused.map((each) => <TransactionLink key={each.id} transaction={each} route={route} />)
        )}
      </div>
    </>
  );
}

function TransactionLink({
  transaction,
  route,
}: {
  readonly transaction: TransactionShown;
  readonly route: Route;
}) {
  const { id, outcome, durationMs } = transaction;
  return (
    <a class="transaction-link" href={hashOf("transactions", { ...route.state, id })}>
      <Word level={outcomeLevels[outcome]}>{outcome}</Word>
      <span>
        <WhatRan transaction={transaction} />
      </span>
      <span class="faint">{milliseconds(durationMs)} ms</span>
    </a>
  );
}

/** The command that shows the history of a cell that the transaction wrote. */
function HistoryCommand({ cell }: { readonly cell: CellName | undefined }) {
  if (cell === undefined) return null;
  return <Command parts={{ command: "history", args: [columnName(cell), cell.row] }} />;
}

interface CellsProps {
  readonly title: string;
  readonly cells: readonly CellName[];
  /** How many cells there were. `cells` may name only some of them. */
  readonly of: number;
  readonly children?: ComponentChildren;
}

function Cells({ title, cells, of, children }: CellsProps) {
  if (cells.length === 0) return null;
  return (
    <div class="part">
      <h3>
        {title} <span class="faint">{count(Math.max(of, cells.length))}</span>
      </h3>
      <ul class="cell-list">
        {cells.map((cell) => (
          <li key={`${cell.table}.${cell.column} ${cell.row}`}>
            <CellLink cell={cell} />
          </li>
        ))}
      </ul>
      {of > cells.length ? (
        <p class="faint">and {count(of - cells.length)} more, some of them perhaps repeated</p>
      ) : null}
      {children}
    </div>
  );
}
