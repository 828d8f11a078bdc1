import { type InspectedColumn, int } from "percolatordb";

/** One column of some rows as the protocol stores it: the paper's figure 4. */
export type ViewedRows = ReadonlyMap<string, InspectedColumn | undefined>;

const balance = int();

/**
 * Timestamps are microseconds since 1970. This view numbers them in the order of their first
 * appearance.
 */
export class ProtocolView {
  readonly #numbers = new Map<number, number>();

  /** Returns a table of the rows with their contents at each timestamp, the newest first. */
  lines(rows: ViewedRows): readonly string[] {
    this.#number(rows);
    const lines = [["row", "data", "lock", "write", "status"]];
    for (const [row, column] of rows) {
      const cells = column === undefined ? [] : this.#cells(column);
      for (const [index, line] of cells.entries()) lines.push([index === 0 ? row : "", ...line]);
      if (cells.length === 0) lines.push([row]);
    }
    const widths = [12, 10, 28, 16, 0];
    return lines.map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join("  ")
        .trimEnd(),
    );
  }

  #cells({ data, locks, writes, statuses }: InspectedColumn): readonly (readonly string[])[] {
    const byTimestamp = new Map<number, string[]>();
    const put = (timestamp: number, place: number, text: string) => {
      const cells = byTimestamp.get(timestamp) ?? ["", "", "", ""];
      cells[place] = `${this.#numbers.get(timestamp)}: ${text}`;
      byTimestamp.set(timestamp, cells);
    };
    for (const { startTimestamp, value } of data) put(startTimestamp, 0, `$${balance.decode(value)}`);
    for (const { startTimestamp, isPrimary, primary } of locks) {
      const name = Buffer.from(primary.row).toString();
      put(startTimestamp, 1, isPrimary ? "I am primary" : `primary is ${primary.table}/${name}`);
    }
    for (const { commitTimestamp, startTimestamp } of writes) {
      put(commitTimestamp, 2, `data at ${this.#numbers.get(startTimestamp)}`);
    }
    for (const { startTimestamp, status } of statuses) put(startTimestamp, 3, status.outcome);
    return [...byTimestamp].sort(([a], [b]) => b - a).map(([, cells]) => cells);
  }

  #number(rows: ViewedRows): void {
    const shown = [...rows.values()].flatMap((column) =>
      column === undefined
        ? []
        : [...column.data, ...column.locks, ...column.writes, ...column.statuses].flatMap((version) =>
            "commitTimestamp" in version
              ? [version.startTimestamp, version.commitTimestamp]
              : [version.startTimestamp],
          ),
    );
    for (const timestamp of shown.sort((a, b) => a - b)) {
      if (!this.#numbers.has(timestamp)) this.#numbers.set(timestamp, this.#numbers.size + 1);
    }
  }
}
