import { definition } from "../../schema/index.js";
import type { Pipeline } from "../api.js";
import type { FlowReport, Report } from "../recording/report.js";
import type { ViewContext } from "./context.js";
import { observerOverviews } from "./overview.js";

/** The tables, the observers, and the columns that their runs were seen to read and write. */
export async function pipeline(context: ViewContext): Promise<Pipeline> {
  const { standing, gathered, reach } = context;
  const [known, stands, reports] = await Promise.all([
    context.tables.current(),
    standing.get(),
    gathered.reports(),
  ]);
  const tables = known.names.map((name) => {
    const columns = [...known.table(name)![definition].columns.values()];
    return { name, columns: columns.map((column) => ({ name: column.name, kind: column.kind })) };
  });
  const names = new Set(known.names);
  const flows = addFlows(reports).filter(({ table }) => names.has(table));
  return { reach, tables, observers: observerOverviews(stands, reports), flows };
}

function addFlows(reports: readonly Report[]): readonly FlowReport[] {
  const sums = new Map<string, FlowReport>();
  for (const flow of reports.flatMap(({ flows }) => flows)) {
    const key = `${flow.observer}\0${flow.does}\0${flow.table}\0${flow.column}`;
    const before = sums.get(key)?.perSecond ?? 0;
    sums.set(key, { ...flow, perSecond: before + flow.perSecond });
  }
  return [...sums.values()];
}
