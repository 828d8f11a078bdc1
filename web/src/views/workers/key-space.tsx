import type { HeatMap, Pipeline } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { useApi } from "../../api/use-api.js";
import { count } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { Empty, Failed, Loading, NotRenewed, ReachNote } from "../../parts/notices.js";
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
  const tables = pipeline.data?.tables ?? [];
  const metric = metrics.find((each) => each === route.state.metric) ?? "writes";
  // Without a table, the server chooses the one with most activity.
  const isNone = pipeline.data !== undefined && tables.length === 0;
  const path = isNone ? undefined : apiPath("heat", { table: route.state.table, metric });
  const heat = useApi<HeatMap>(path, everyMs);
  const table = route.state.table ?? heat.data?.table;
  const totals = new Map(heat.data?.totals.map((each) => [each.table, each.count]));
  const isKnown = tables.some(({ name }) => name === table);
  const names = table === undefined || isKnown ? tables : [...tables, { name: table, isInternal: false }];
  const options = names
    .map(({ name, isInternal }) => [name, totals.get(name) ?? 0, isInternal] as const)
    .sort(([, a], [, b]) => b - a);
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
          options={options.map(([name, total, isInternal]) => [
            name,
            total === 0 ? name : `${name} (${count(total)})`,
            isInternal,
          ])}
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
      {isNone ? <Empty title="No table is recorded yet." /> : null}
      {heat.data === undefined ? (
        !isNone && heat.error === undefined && <Loading what="the key space" />
      ) : (
        <>
          <NotRenewed error={heat.error} />
          <Shown heat={heat.data} />
        </>
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
      {/* The sessions above say what else is not seen. */}
      {reach === "store" ? <ReachNote reach={reach} of="heat" /> : null}
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
