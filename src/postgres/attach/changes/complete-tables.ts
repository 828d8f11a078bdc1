import type { Environment } from "../../../environment/index.js";
import type { Setting } from "../../../store/postgres/index.js";
import type { Followed } from "./changed-table.js";

/**
 * How long a complete table is not looked at. Another process may have moved a large `TRUNCATE` and
 * ended before it compared the rows: then this one does that so much later.
 */
const knownMs = 1_000;

/**
 * The tables that are known to be copied. Otherwise each move would ask the server about each attached
 * table, which takes three statements.
 */
export class CompleteTables {
  readonly #environment: Pick<Environment, "monotonic">;
  readonly #known = new Map<string, { readonly generation: string; readonly until: number }>();

  constructor(environment: Pick<Environment, "monotonic">) {
    this.#environment = environment;
  }

  add({ id, generation }: Pick<Followed, "id" | "generation">): void {
    this.#known.set(id, { generation, until: this.#environment.monotonic() + knownMs });
  }

  /** Whether the table was complete a moment ago. One that was attached again is not. */
  has({ id, generation }: Pick<Followed, "id" | "generation">): boolean {
    const known = this.#known.get(id);
    return known?.generation === generation && known.until > this.#environment.monotonic();
  }

  delete({ id }: Pick<Followed, "id">): void {
    this.#known.delete(id);
  }
}

const tables = new WeakMap<Setting["connections"], CompleteTables>();

/** The complete tables that this process knows of one database. */
export function completeTablesOf({ connections }: Pick<Setting, "connections">): CompleteTables {
  const known = tables.get(connections) ?? new CompleteTables(connections.environment);
  tables.set(connections, known);
  return known;
}
