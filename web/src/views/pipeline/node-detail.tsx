import { bounded, rate } from "../../format/numbers.js";
import { duration } from "../../format/times.js";
import { Word } from "../../parts/mark.js";
import { hashOf } from "../../routing/route.js";
import { healthOf } from "../../state/health.js";
import { columnId, type Graph, type GraphEdge, type GraphNode, observerId } from "./graph.js";

/** Details of the selected node. */
export function NodeDetail({ node, graph }: { readonly node: GraphNode; readonly graph: Graph }) {
  return (
    <section class="panel detail" aria-label="The selected node">
      {node.kind === "observer" ? (
        <ObserverDetail node={node} graph={graph} />
      ) : (
        <ColumnDetail node={node} graph={graph} />
      )}
    </section>
  );
}

function ObserverDetail({
  node,
  graph,
}: {
  readonly node: GraphNode & { kind: "observer" };
  readonly graph: Graph;
}) {
  const { observer } = node;
  const { level, word, why } = healthOf(observer);
  const { name } = observer;
  const flows = graph.edges.filter((edge) => edge.observer === name);
  return (
    <>
      <div class="panel-head">
        <h2>{name}</h2>
        <Word level={level}>{word}</Word>
        <span class="faint">{why}</span>
      </div>
      <dl class="pairs">
        <Pair name="Oldest waits">
          {observer.pending.count === 0 ? "nothing" : duration(observer.oldestPendingMs)}
        </Pair>
        <Pair name="Waiting">{bounded(observer.pending)}</Pair>
        <Pair name="Delay p50">{duration(observer.delay.p50Ms)}</Pair>
        <Pair name="Delay p99">{duration(observer.delay.p99Ms)}</Pair>
        <Pair name="Runs">{`${rate(observer.runsPerSecond)}/s`}</Pair>
        <Pair name="Failures">{`${rate(observer.failuresPerSecond)}/s`}</Pair>
        <Pair name="Conflicts">{`${rate(observer.conflictsPerSecond)}/s`}</Pair>
        <Pair name="Parked">{bounded(observer.parked)}</Pair>
        <Pair name="Hosts">{String(observer.hosts)}</Pair>
      </dl>
      <Flows flows={flows} />
      <p class="links">
        <a href={hashOf("transactions", { observer: name })}>Its runs</a>
        <a href={hashOf("failures", { observer: name })}>Its parked changes</a>
        <a href={hashOf("workers")}>Its workers</a>
      </p>
    </>
  );
}

function Pair({ name, children }: { readonly name: string; readonly children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Flows({ flows }: { readonly flows: readonly GraphEdge[] }) {
  return (
    <ul class="flows">
      {flows.map(({ kind, from, to, perSecond }) => {
        const id = kind === "writes" ? to : from;
        return (
          <li key={`${kind} ${id}`}>
            <span class={`flow-kind ${kind}`}>{kind}</span>{" "}
            <a href={hashOf("pipeline", { node: id })}>{id.slice("column:".length)}</a>
            {kind === "watches" ? null : <span class="faint"> {rate(perSecond)}/s</span>}
          </li>
        );
      })}
    </ul>
  );
}

function ColumnDetail({
  node,
  graph,
}: {
  readonly node: GraphNode & { kind: "column" };
  readonly graph: Graph;
}) {
  const id = columnId(node.table, node.column);
  const touching = graph.edges.filter(({ from, to }) => from === id || to === id);
  return (
    <>
      <div class="panel-head">
        <h2>
          {node.table}.{node.column}
        </h2>
        <span class="tag">{node.of}</span>
      </div>
      <ul class="flows">
        {touching.map(({ kind, observer }) => (
          <li key={`${kind} ${observer}`}>
            <span class={`flow-kind ${kind}`}>
              {kind === "watches" ? "watched by" : kind === "writes" ? "written by" : "read by"}
            </span>{" "}
            <a href={hashOf("pipeline", { node: observerId(observer) })}>{observer}</a>
          </li>
        ))}
      </ul>
      <p class="links">
        <a href={hashOf("data", { table: node.table })}>Its table's rows</a>
        <a href={hashOf("workers", { table: node.table })}>Where it is written most often</a>
      </p>
    </>
  );
}
