import { Client, escapeIdentifier } from "pg";

export interface RawUpsert {
  readonly key: string;
  readonly value: string;
}

interface Waiting {
  readonly upserts: readonly RawUpsert[];
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
}

interface Row {
  readonly key: string;
  readonly value: string;
}

/** The most upserts in one statement. */
const maxUpserts = 512;

/**
 * PostgreSQL used directly through `pg`: one table with the newest value of each key, and one
 * connection. Waiting upserts go together into the next statement, which is a commit.
 */
export class RawPostgres {
  readonly #client: Client;
  #waiting: Waiting[] = [];
  #isSending = false;

  private constructor(client: Client) {
    this.#client = client;
  }

  /** Connects to the server whose socket is in the folder `host`, and makes the table in a new schema. */
  static async open(host: string, schema: string): Promise<RawPostgres> {
    const client = new Client({ host, user: "postgres", database: "postgres" });
    await client.connect();
    const name = escapeIdentifier(schema);
    await client.query(
      `create schema ${name}; create table ${name}.cells (key text collate "C" primary key, value text not null); set search_path = ${name}`,
    );
    return new RawPostgres(client);
  }

  /** Resolves when the upserts are committed and flushed. The keys of all waiting upserts differ. */
  commit(upserts: readonly RawUpsert[]): Promise<void> {
    return new Promise((done, fail) => {
      this.#waiting.push({ upserts, done, fail });
      if (this.#isSending) return;
      this.#isSending = true;
      // The first group takes everything that this turn of the event loop adds.
      setImmediate(() => void this.#send());
    });
  }

  async #send(): Promise<void> {
    for (let group = this.#take(); group.length > 0; group = this.#take()) {
      const upserts = group.flatMap((each) => each.upserts);
      try {
        await this.#client.query({
          name: "upsert",
          text: "insert into cells select * from unnest($1::text[], $2::text[]) on conflict (key) do update set value = excluded.value",
          values: [upserts.map(({ key }) => key), upserts.map(({ value }) => value)],
        });
        for (const { done } of group) done();
        // Callers add their next upserts before the next group is taken.
        await new Promise((resolve) => setImmediate(resolve));
      } catch (error) {
        for (const { fail } of group) fail(error);
      }
    }
    this.#isSending = false;
  }

  #take(): readonly Waiting[] {
    let [taken, upserts] = [0, 0];
    for (const each of this.#waiting) {
      upserts += each.upserts.length;
      if (taken > 0 && upserts > maxUpserts) break;
      taken++;
    }
    return this.#waiting.splice(0, taken);
  }

  /** The values of some keys, in any order. */
  async read(keys: readonly string[]): Promise<readonly Row[]> {
    const text = "select key, value from cells where key = any($1)";
    return (await this.#client.query<Row>({ name: "read", text, values: [keys] })).rows;
  }

  /** The first rows at and after `start`, by key. */
  async scan(start: string, limit: number): Promise<readonly Row[]> {
    const text = "select key, value from cells where key >= $1 order by key limit $2";
    return (await this.#client.query<Row>({ name: "scan", text, values: [start, limit] })).rows;
  }

  /** The version and the settings that decide how fast and how durable the server is. */
  async configuration(): Promise<string> {
    const { rows } = await this.#client.query<{ name: string; value: string }>(
      "select name, current_setting(name) as value from unnest($1::text[]) as name",
      [["server_version", "shared_buffers", "fsync", "synchronous_commit", "full_page_writes", "wal_level"]],
    );
    return rows.map(({ name, value }) => `${name} ${value}`).join(", ");
  }

  /** Lets the planner know the table, as autovacuum would after a while. */
  async analyze(): Promise<void> {
    await this.#client.query("vacuum analyze");
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
