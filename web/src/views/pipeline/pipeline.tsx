import { useMemo } from "preact/hooks";
import type { ObserverOverview, Pipeline } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { Empty, Failed, Loading, ReachNote } from "../../parts/notices.js";
import { ViewHead } from "../../parts/view-head.js";
import type { Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { useStore } from "../../state/store.js";
import { graphOf } from "./graph.js";
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
  const withReads = route.state.reads === "1";
  const observers = useNewest(pipeline.observers);
  const graph = useMemo(
    () => graphOf({ ...pipeline, observers }, withReads),
    [pipeline, observers, withReads],
  );
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
      <section class="panel" aria-labelledby="graph">
        <div class="panel-head">
          <h2 id="graph">Columns and observers</h2>
          <label class="check">
            <input
              type="checkbox"
              checked={withReads}
              onChange={(event) => change(route, { reads: event.currentTarget.checked ? "1" : undefined })}
            />
            other reads
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={route.state.fit === "1"}
              onChange={(event) => change(route, { fit: event.currentTarget.checked ? "1" : undefined })}
            />
            fit to the width
          </label>
          {selected === undefined ? null : (
            <button type="button" data-close onClick={() => select(undefined)}>
              Show all
            </button>
          )}
        </div>
        <GraphPicture
          graph={graph}
          selected={selected?.id}
          reads={route.state.reads}
          isFit={route.state.fit === "1"}
        />
        <Legend />
      </section>
      {selected === undefined ? null : <NodeDetail node={selected} graph={graph} />}
      {graph.apart.length === 0 ? null : (
        <p class="note">
          Columns that no observer watches, and that no observer was seen to write:{" "}
          {graph.apart.map(({ table, column }) => `${table}.${column}`).join(", ")}.
        </p>
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

function Legend() {
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
    </ul>
  );
}
