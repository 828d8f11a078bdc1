import { type Connections, type Statement, statement } from "../wire/connections.js";

/** Names that the next query looks up, and its end. */
interface Lookup {
  readonly names: Set<string>;
  readonly answered: Promise<void>;
}

/** The numbers of the tables. A number never changes, so it is cached for good. */
export class TableIds {
  readonly #connections: Connections;
  readonly #known = new Map<string, number>();
  readonly #find: Statement;
  readonly #need: Statement;
  #next: Lookup | undefined;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#find = statement(`select name, id from ${schema}.tables where name = any($1)`);
    // A crash must not undo a number that this process keeps: the server would give it to another table.
    this.#need = statement(`select $1, ${schema}.need_table($1), ${schema}.wait_for_disk()`);
  }

  /** The number, if this process knows it. */
  known(table: string): number | undefined {
    return this.#known.get(table);
  }

  get size(): number {
    return this.#known.size;
  }

  /**
   * The number of a table. Undefined if no process has ever written to the table or announced it.
   * All calls of one turn of the event loop share a query, because reads of such tables ask each time.
   */
  async find(table: string): Promise<number | undefined> {
    this.#next ??= this.#lookup();
    const { names, answered } = this.#next;
    names.add(table);
    await answered;
    return this.#known.get(table);
  }

  /** The number of a table. Gives it one if it has none. */
  async need(table: string): Promise<number> {
    await this.#ask(this.#need, table, [table]);
    return this.#known.get(table)!;
  }

  #lookup(): Lookup {
    const names = new Set<string>();
    const turn = new Promise<void>((resolve) => this.#connections.environment.defer(resolve));
    const answered = turn.then(async () => {
      this.#next = undefined;
      await this.#ask(this.#find, [...names], [...names]);
    });
    return { names, answered };
  }

  async #ask(query: Statement, value: unknown, names: readonly string[]): Promise<void> {
    const which = names.map((name) => JSON.stringify(name)).join(", ");
    for (const [name, id] of await this.#connections.repeat(query, [value], `look up the table ${which}`)) {
      this.#known.set(name!, Number(id));
    }
  }
}
