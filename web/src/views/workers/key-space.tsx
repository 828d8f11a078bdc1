import type { HeatMap, Pipeline } from "../../../../src/dashboard/api.js";
import { apiPath } from "../../api/client.js";
import { useApi } from "../../api/use-api.js";
import { count } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { Empty, Failed, Loading, ReachNote } from "../../parts/notices.js";
import { Select } from "../../parts/observers-select.js";
import { hashOf, type Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { HeatPicture } from "./heat-picture.js";

const everyMs = 2_000;
const hottestShown = 5;
const metrics = ["writes", "conflicts", "hints"] as const;

/** Activity in a table by key range and time. */
export function KeySpace({ route }: { readonly route: Route }) {
  const pipeline = useApi<Pipeline>(apiPath("pipeline"));
  const tables = pipeline.data?.tables.map(({ name }) => name) ?? [];
  const table = route.state.table ?? tables[0];
  const metric = metrics.find((each) => each === route.state.metric) ?? "writes";
  const heat = useApi<HeatMap>(table === undefined ? undefined : apiPath("heat", { table, metric }), everyMs);
  const names = table === undefined || tables.includes(table) ? tables : [...tables, table];
  return (
    <section class="panel key-space" aria-labelledby="key-space">
      <div class="panel-head">
        <h2 id="key-space">Key space</h2>
        <span class="faint">{metric} by key range and time</span>
      </div>
      <div class="controls">
        <Select
          label="Table"
          value={table ?? ""}
          options={names.map((each) => [each, each] as const)}
          onChange={(each) => change(route, { table: each })}
        />
        <Select
          label="Metric"
          value={metric}
          options={metrics.map((each) => [each, each] as const)}
          onChange={(each) => change(route, { metric: each })}
        />
      </div>
      {pipeline.error === undefined ? null : <Failed error={pipeline.error} retry={pipeline.reload} />}
      {heat.error !== undefined && heat.data === undefined ? (
        <Failed error={heat.error} retry={heat.reload} />
      ) : null}
      {pipeline.data !== undefined && table === undefined ? (
        <Empty title="No table is recorded yet." />
      ) : null}
      {heat.data === undefined ? (
        table !== undefined && heat.error === undefined && <Loading what="the key space" />
      ) : (
        <Shown heat={heat.data} />
      )}
    </section>
  );
}

function Shown({ heat }: { readonly heat: HeatMap }) {
  const { reach, table, metric, ranges, counts } = heat;
  const totals = counts.map((row) => row.reduce((sum, each) => sum + each, 0));
  const hottest = [...totals.entries()]
    .filter(([, total]) => total > 0)
    .sort(([, a], [, b]) => b - a)
    .slice(0, hottestShown);
  return (
    <>
      <ReachNote reach={reach} of="heat" />
      {hottest.length === 0 ? (
        <Empty title={`No recent ${metric}.`}>Activity from now on appears here by key range.</Empty>
      ) : (
        <>
          <HeatPicture heat={heat} />
          <h3>Hottest ranges</h3>
          <ol class="hottest">
            {hottest.map(([index, total]) => (
              <li key={ranges[index]}>
                <b>{count(total)}</b> from{" "}
                <a href={hashOf("data", { table, prefix: ranges[index] })}>
                  <bdi>{ranges[index] === "" ? "the first row" : oneLine(ranges[index]!)}</bdi>
                </a>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}
