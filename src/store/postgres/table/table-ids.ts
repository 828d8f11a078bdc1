import { type Connections, type Statement, statement } from "../wire/connections.js";

/** The numbers of the tables. A number never changes, so it is cached for good. */
export class TableIds {
  readonly #connections: Connections;
  readonly #known = new Map<string, number>();
  readonly #find: Statement;
  readonly #need: Statement;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#find = statement(`select id from ${schema}.tables where name = $1`);
    // A crash must not undo a number that this process keeps: the server would give it to another table.
    this.#need = statement(`select ${schema}.need_table($1), ${schema}.wait_for_disk()`);
  }

  /** The number, if this process knows it. */
  known(table: string): number | undefined {
    return this.#known.get(table);
  }

  get size(): number {
    return this.#known.size;
  }

  /** The number of a table. Undefined if no process has ever written to the table or announced it. */
  find(table: string): Promise<number | undefined> {
    return this.#ask(this.#find, table);
  }

  /** The number of a table. Gives it one if it has none. */
  async need(table: string): Promise<number> {
    return (await this.#ask(this.#need, table))!;
  }

  async #ask(query: Statement, table: string): Promise<number | undefined> {
    const rows = await this.#connections.repeat(query, [table], `look up the table ${JSON.stringify(table)}`);
    const id = rows[0]?.[0];
    if (id === undefined || id === null) return undefined;
    this.#known.set(table, Number(id));
    return Number(id);
  }
}
