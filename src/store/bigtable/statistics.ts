/** Counts of a store since it was opened. */
export interface Counts {
  /** Requests for rows, including retries. */
  reads: number;
  /** Rows received. */
  rows: number;
  /** Restarted reads. */
  repeated: number;
  /** Conditional mutations. */
  conditional: number;
  /** Mutations of one row without a condition. */
  single: number;
  /** Requests with mutations of several rows. */
  bulk: number;
  /** Rows in those requests. */
  bulkRows: number;
  /** Mutations with an unknown outcome. */
  unknown: number;
}

export function noCounts(): Counts {
  return { reads: 0, rows: 0, repeated: 0, conditional: 0, single: 0, bulk: 0, bulkRows: 0, unknown: 0 };
}

/** The counts under the names that {@link RowStore.statistics} uses. */
export function showCounts(counts: Counts, tables: number): Readonly<Record<string, number>> {
  return {
    tables,
    readRequests: counts.reads,
    rowsRead: counts.rows,
    readsRepeated: counts.repeated,
    conditionalMutations: counts.conditional,
    singleMutations: counts.single,
    bulkRequests: counts.bulk,
    bulkMutations: counts.bulkRows,
    unknownAnswers: counts.unknown,
  };
}
