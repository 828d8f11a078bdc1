import { useMemo } from "preact/hooks";
import type { ObserverOverview, Pipeline } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { counted } from "../../format/numbers.js";
import { Mark } from "../../parts/mark.js";
import { Empty, Failed, Loading, ReachNote } from "../../parts/notices.js";
import { ViewHead } from "../../parts/view-head.js";
import type { Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { healthOf, otherStates, problemsOf, worstFirst } from "../../state/health.js";
import { useIsNarrow } from "../../state/narrow.js";
import { useStore } from "../../state/store.js";
import { type ApartColumn, graphOf } from "./graph.js";
import { GraphPicture } from "./graph-picture.js";
import { NodeDetail } from "./node-detail.js";

const everyMs = 2_000;

export function PipelineView({ route }: { readonly route: Route }) {
  const { data, error, reload } = useApi<Pipeline>(apiPath("pipeline"), everyMs);
  const { node } = route.state;
  const observer = node?.startsWith("observer:") ? node.slice("observer:".length) : undefined;
  const commands =
    observer === undefined ? [{ command: "status" }] : [{ command: "pending", options: { observer } }];
  return (
    <div class="view">
      <ViewHead title="Pipeline" commands={commands}>
        Columns, the observers that watch them, and the columns that these observers write.
      </ViewHead>
      {error === undefined ? null : <Failed error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading what="the pipeline" />
      ) : (
        <Shown pipeline={data} route={route} />
      )}
    </div>
  );
}

function Shown({ pipeline, route }: { readonly pipeline: Pipeline; readonly route: Route }) {
  const { reads, fit, internal } = route.state;
  const observers = useNewest(pipeline.observers);
  const graph = useMemo(
    () => graphOf({ ...pipeline, observers }, { withReads: reads === "1", withInternal: internal === "1" }),
    [pipeline, observers, reads, internal],
  );
  const kept = { reads, fit, internal };
  const selected = graph.nodes.find(({ id }) => id === route.state.node);
  const select = (id: string | undefined) => change(route, { node: id });
  if (pipeline.observers.length === 0)
    return (
      <Empty title="There is no pipeline yet.">
        No observer is registered. Open the database with observers, or run a worker with their module.
      </Empty>
    );
  return (
    <>
      <ReachNote reach={pipeline.reach} of="pipeline" />
      <Worst observers={observers} select={select} />
      <section class="panel" aria-labelledby="graph">
        <div class="panel-head">
          <h2 id="graph">Columns and observers</h2>
          <Check route={route} name="reads">
            other reads
          </Check>
          {pipeline.tables.some(({ isInternal }) => isInternal) ? (
            <Check route={route} name="internal">
              internal columns
            </Check>
          ) : null}
          <Check route={route} name="fit">
            fit to the width
          </Check>
          {selected === undefined ? null : (
            <button type="button" data-close onClick={() => select(undefined)}>
              Show all
            </button>
          )}
        </div>
        <GraphPicture graph={graph} selected={selected?.id} kept={kept} isFit={fit === "1"} />
        <Legend hasInternal={graph.nodes.some(({ kind }) => kind === "internal")} />
      </section>
      {selected === undefined ? null : <NodeDetail node={selected} graph={graph} kept={kept} />}
      <Apart columns={graph.apart} />
    </>
  );
}

/** The observers in trouble, the worst first: a phone shows only the beginning of the graph. */
function Worst({
  observers,
  select,
}: {
  readonly observers: readonly ObserverOverview[];
  readonly select: (id: string) => void;
}) {
  const worst = worstFirst(observers).filter((observer) => problemsOf(observer).length > 0);
  if (!useIsNarrow() || worst.length === 0) return null;
  return (
    <ul class="worst-observers" aria-label="Observers in trouble">
      {worst.map((observer) => {
        const { level, word } = healthOf(observer);
        return (
          <li key={observer.name} data-worst={observer.name}>
            <button type="button" onClick={() => select(`observer:${observer.name}`)}>
              <Mark level={level} /> <b>{observer.name}</b> {[word, ...otherStates(observer)].join(", ")}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** A choice of the graph, which is a part of the view's link. */
function Check({
  route,
  name,
  children,
}: {
  readonly route: Route;
  readonly name: "reads" | "internal" | "fit";
  readonly children: string;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={route.state[name] === "1"}
        onChange={(event) => change(route, { [name]: event.currentTarget.checked ? "1" : undefined })}
      />
      {children}
    </label>
  );
}

/** The columns that are not in the graph. Those of internal tables are shown only if asked for. */
function Apart({ columns }: { readonly columns: readonly ApartColumn[] }) {
  const own = columns.filter(({ isInternal }) => !isInternal);
  const internal = columns.filter(({ isInternal }) => isInternal);
  const listed = (these: readonly ApartColumn[]) =>
    these.map(({ table, column }) => `${table}.${column}`).join(", ");
  return (
    <>
      {own.length === 0 ? null : (
        <p class="note">
          Columns that no observer watches, and that no observer was seen to write: {listed(own)}.
        </p>
      )}
      {internal.length === 0 ? null : (
        <details class="note" data-apart="internal">
          <summary>internal: {counted(internal.length, "more column")}</summary>
          <p>{listed(internal)}</p>
        </details>
      )}
    </>
  );
}

/** Replaces the observers' figures by those of the stream, which are newer than the graph's. */
function useNewest(observers: readonly ObserverOverview[]): readonly ObserverOverview[] {
  const streamed = useStore(overview)?.observers;
  return useMemo(
    () => observers.map((observer) => streamed?.find(({ name }) => name === observer.name) ?? observer),
    [observers, streamed],
  );
}

function Legend({ hasInternal }: { readonly hasInternal: boolean }) {
  return (
    <ul class="legend" aria-label="Legend">
      <li>
        <svg viewBox="0 0 40 10" aria-hidden="true">
          <path class="edge watches" d="M0,5H40" stroke-width="5" />
        </svg>
        watched; thicker the more changes wait
      </li>
      <li>
        <svg viewBox="0 0 40 10" aria-hidden="true">
          <path class="edge writes" d="M0,5H40" stroke-width="2" />
        </svg>
        written; thicker the more often
      </li>
      <li>
        <svg viewBox="0 0 40 10" aria-hidden="true">
          <path class="edge reads" d="M0,5H40" stroke-width="1.5" />
        </svg>
        other reads
      </li>
      {hasInternal ? (
        <li>
          <svg viewBox="0 0 40 12" aria-hidden="true" class="node internal">
            <rect class="box" x="1" y="1" width="38" height="10" rx="3" />
          </svg>
          internal: what a recipe keeps for itself
        </li>
      ) : null}
    </ul>
  );
}
