import type { CellView, RawCell } from "../../cell.js";
import { parts } from "../../cell.js";
import type { RawRead, RowRead } from "../../row-store.js";
import { fittingColumns, versionsFilter, viewFilter } from "./filter.js";
import type { Kind } from "./pages.js";
import { timestampRange } from "./timestamps.js";
import { showVersions } from "./versions.js";
import { showViews } from "./views.js";

/** Whether the read names few columns, each by its exact name. */
export function isGatherable({ columns }: RowRead): boolean {
  return (
    columns.length <= 16 &&
    columns.every((range) => "exact" in range) &&
    fittingColumns(columns, viewBranches) === columns.length
  );
}

const viewBranches = 4;

export function viewKind(at: number): Kind<CellView> {
  return {
    branches: viewBranches,
    filter: (columns, limit) => viewFilter(columns, at, limit),
    show: (cells, columns, limit) => showViews(cells, columns, at, limit),
  };
}

/** The kind of a read. Undefined if the read can have no result. */
export function versionKind({
  parts: wanted,
  from = 0,
  to = Number.POSITIVE_INFINITY,
  skip,
  versions,
}: RawRead): Kind<RawCell> | undefined {
  const asked = parts.filter((part) => wanted.includes(part));
  if (asked.length === 0 || timestampRange(from, to) === "none") return undefined;
  return {
    branches: asked.length,
    filter: (columns, limit) => versionsFilter(columns, asked, { from, to, versions }, limit),
    show: (cells, columns, limit) => showVersions(cells, columns, limit, skip),
  };
}
