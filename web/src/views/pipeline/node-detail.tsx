import { bounded, none, rate } from "../../format/numbers.js";
import { duration } from "../../format/times.js";
import { Word } from "../../parts/mark.js";
import { hashOf, type State } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { healthOf } from "../../state/health.js";
import {
  type ColumnNode,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type InternalNode,
  type ObserverNode,
  observerId,
} from "./graph.js";
import { ownerInWords } from "./node-picture.js";

interface Props<N extends GraphNode> {
  readonly node: N;
  readonly graph: Graph;
  /** What links within the view keep. */
  readonly kept: State;
}

/** Details of the selected node. */
export function NodeDetail({ node, graph, kept }: Props<GraphNode>) {
  return (
    <section class="panel detail" aria-label="The selected node">
      {node.kind === "observer" ? (
        <ObserverDetail node={node} graph={graph} kept={kept} />
      ) : node.kind === "internal" ? (
        <InternalDetail node={node} graph={graph} kept={kept} />
      ) : (
        <ColumnDetail node={node} graph={graph} kept={kept} />
      )}
    </section>
  );
}

function ObserverDetail({ node, graph, kept }: Props<ObserverNode>) {
  const { observer } = node;
  const { level, word, why } = healthOf(observer);
  const { name } = observer;
  const { reach } = useAbout();
  // The store does not know how often observers run.
  const heard = (perSecond: number) => (reach === "store" ? none : `${rate(perSecond)}/s`);
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
        <Pair name="Runs">{heard(observer.runsPerSecond)}</Pair>
        <Pair name="Failures">{heard(observer.failuresPerSecond)}</Pair>
        <Pair name="Conflicts">{heard(observer.conflictsPerSecond)}</Pair>
        <Pair name="Parked">{bounded(observer.parked)}</Pair>
        <Pair name="Hosts">{String(observer.hosts)}</Pair>
      </dl>
      <Flows flows={flows} graph={graph} kept={kept} />
      <p class="links">
        <a href={hashOf("transactions", { observer: name })}>Its runs</a>
        <a href={hashOf("failures", { observer: name })}>Its failures</a>
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

function Flows({
  flows,
  graph,
  kept,
}: {
  readonly flows: readonly GraphEdge[];
  readonly graph: Graph;
  readonly kept: State;
}) {
  return (
    <ul class="flows">
      {flows.map(({ kind, from, to, perSecond }) => {
        const id = kind === "writes" ? to : from;
        return (
          <li key={`${kind} ${id}`}>
            <span class={`flow-kind ${kind}`}>{kind}</span>{" "}
            <a href={hashOf("pipeline", { ...kept, node: id })}>{nameOf(graph, id)}</a>
            {kind === "watches" ? null : <span class="faint"> {rate(perSecond)}/s</span>}
          </li>
        );
      })}
    </ul>
  );
}

/** The name of a column, or of the inner tables of a recipe. */
function nameOf({ nodes }: Graph, id: string): string {
  const node = nodes.find((each) => each.id === id);
  return node?.kind === "internal" ? `internal of ${ownerInWords(node)}` : id.slice("column:".length);
}

function InternalDetail({ node, graph, kept }: Props<InternalNode>) {
  return (
    <>
      <div class="panel-head">
        <h2>{ownerInWords(node)}</h2>
        <span class="tag">internal</span>
        <span class="faint">what it keeps for itself, beside the table that programs read</span>
      </div>
      <Touching id={node.id} graph={graph} kept={kept} />
      <ul class="flows mono" data-internal={node.owner}>
        {node.columns.map(({ table, column }) => (
          <li key={`${table}.${column}`}>
            <a href={hashOf("data", { table })}>
              {table}.{column}
            </a>
          </li>
        ))}
      </ul>
      <p class="links">
        <a href={hashOf("pipeline", { ...kept, internal: 1 })}>Show its columns in the graph</a>
      </p>
    </>
  );
}

function ColumnDetail({ node, graph, kept }: Props<ColumnNode>) {
  return (
    <>
      <div class="panel-head">
        <h2>
          {node.table}.{node.column}
        </h2>
        <span class="tag">{node.of}</span>
        {node.source === undefined ? null : (
          <span class="faint">
            of the SQL table <span class="mono">{node.source}</span>
          </span>
        )}
      </div>
      <Touching id={node.id} graph={graph} kept={kept} />
      <p class="links">
        <a href={hashOf("data", { table: node.table })}>Its table's rows</a>
        <a href={hashOf("workers", { table: node.table })}>Where it is written most often</a>
      </p>
    </>
  );
}

/** The observers that touch a node. */
function Touching({ id, graph, kept }: { readonly id: string; readonly graph: Graph; readonly kept: State }) {
  return (
    <ul class="flows">
      {graph.edges
        .filter(({ from, to }) => from === id || to === id)
        .map(({ kind, observer }) => (
          <li key={`${kind} ${observer}`}>
            <span class={`flow-kind ${kind}`}>
              {kind === "watches" ? "watched by" : kind === "writes" ? "written by" : "read by"}
            </span>{" "}
            <a href={hashOf("pipeline", { ...kept, node: observerId(observer) })}>{observer}</a>
          </li>
        ))}
    </ul>
  );
}
