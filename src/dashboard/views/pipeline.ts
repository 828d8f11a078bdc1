import { definition } from "../../schema/index.js";
import type { Pipeline } from "../api/index.js";
import { flowKey } from "../recording/flow-counts.js";
import { sumByKey } from "../recording/sums.js";
import { isInternal, ownerOf } from "../text/internal.js";
import type { View } from "./context.js";
import { observerOverviews } from "./overview.js";

/** The tables, the observers, and the columns that their runs were seen to read and write. */
export const pipeline: View<Pipeline> = async (context) => {
  const { standing, gathered, reach } = context;
  const [known, stands, reports] = await Promise.all([
    context.tables.get(),
    standing.get(),
    gathered.reports(),
  ]);
  const tables = known.names.map((name) => {
    const columns = [...known.table(name)![definition].columns.values()];
    return {
      name,
      isInternal: isInternal(known, name),
      owner: ownerOf(known, name),
      source: stands.attached.tables.find((each) => each.name === name)?.source,
      columns: columns.map((column) => ({ name: column.name, kind: column.kind })),
    };
  });
  const names = new Set(known.names);
  const all = reports.flatMap((report) => report.flows).filter(({ table }) => names.has(table));
  const flows = sumByKey(all, flowKey, (sum, { perSecond, ...flow }) => {
    return { ...flow, perSecond: sum.perSecond + perSecond };
  });
  return { reach, tables, observers: observerOverviews(stands, reports, context.growth), flows };
};
