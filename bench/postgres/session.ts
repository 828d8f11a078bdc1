import type { PoolClient, QueryResultRow } from "pg";
import { later } from "../../examples/webindex/work.js";
import { batchOf, hasRounds, type TaskName, tasks } from "./tasks/names.js";

/** After a deadlock a transaction is retried at once, at most this many times. */
const maxAttempts = 50;

/** One transaction: its prepared statements, and the keys that its commit makes due. */
export class Session {
  /** The ids of pages that this commit makes findable, or findable by other terms. */
  readonly found: string[] = [];
  readonly #client: PoolClient;
  readonly #due = new Map<TaskName, Set<string>>();

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async all<R extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<R[]> {
    return (await this.#client.query<R>({ name, text, values })).rows;
  }

  notify(task: TaskName, key: string): void {
    let keys = this.#due.get(task);
    if (keys === undefined) {
      keys = new Set();
      this.#due.set(task, keys);
    }
    keys.add(key);
  }

  /**
   * Takes the first due keys of a task off the list, each with its repetitions, in key order. Skips
   * keys that another transaction has taken. If that transaction fails, the keys are due again, and
   * its job still exists.
   */
  async take(task: TaskName, most: number = batchOf(task)): Promise<string[]> {
    const rows = await this.all<{ key: string }>(
      "take due",
      `with first as (select key from due where task = $1 order by id limit $2 for update skip locked),
         few as (select id from due where task = $1 and key in (select key from first) for update skip locked)
       delete from due using few where due.id = few.id returning due.key`,
      [task, most],
    );
    return [...new Set(rows.map(({ key }) => key))].sort();
  }

  /**
   * Lists the keys that this transaction makes due, and adds at most as many jobs as are needed for
   * them.
   */
  async send(): Promise<void> {
    if (this.#due.size === 0) return;
    const due = [...this.#due].flatMap(([task, keys]) => [...keys].map((key) => [task, key] as const));
    await this.all("list due", "insert into due (task, key) select * from unnest($1::text[], $2::text[])", [
      due.map(([task]) => task),
      due.map(([, key]) => key),
    ]);
    const jobs = [...this.#due]
      .filter(([task]) => !(hasRounds() && later.some(({ name }) => name === task)))
      .flatMap(([task, { size }]) => Array.from({ length: Math.ceil(size / batchOf(task)) }, () => task));
    if (jobs.length === 0) return;
    await this.all(
      "add jobs",
      `select graphile_worker.add_jobs(array(
        select row(task, '{}'::json, null, now(), 25::smallint, null, priority, null)::graphile_worker.job_spec
        from unnest($1::text[], $2::smallint[]) as jobs(task, priority)
      ))`,
      [jobs, jobs.map((task) => tasks[task].priority)],
    );
  }
}

/**
 * Runs a transaction, and retries it after a deadlock. It uses read committed and locks the rows on
 * which it decides. Under repeatable read, transactions that add jobs at the same time would make
 * each other fail repeatedly. Its commit is flushed, whatever the connection's setting. Returns the
 * result of the attempt that committed.
 */
export async function transact(
  client: PoolClient,
  run: (session: Session) => Promise<void>,
): Promise<Session> {
  for (let attempt = 1; ; attempt++) {
    const session = new Session(client);
    await client.query("begin; set local synchronous_commit = on");
    try {
      await run(session);
      await session.send();
      await client.query("commit");
      return session;
    } catch (error) {
      await client.query("rollback");
      if (!isConflict(error) || attempt >= maxAttempts) throw error;
    }
  }
}

function isConflict(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "40001" || code === "40P01" || code === "23505";
}
