import type { PoolClient, QueryResultRow } from "pg";

/** What is to be asked of the queue when a transaction commits. */
interface Job {
  readonly task: string;
  readonly row: string;
}

const priorities: Readonly<Record<string, number>> = {
  extract: 0,
  invert: 1,
  cluster: 2,
  elect: 2,
  index: 3,
  merge: 4,
};
/** A transaction that met another one is begun again at once, so often. */
const mostAttempts = 50;

/** One transaction of a job: statements prepared by name, and the jobs that it causes, in its commit. */
export class Session {
  readonly #client: PoolClient;
  readonly #jobs = new Map<string, Job>();

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async all<R extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<R[]> {
    return (await this.#client.query<R>({ name, text, values })).rows;
  }

  async one<R extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<R | undefined> {
    return (await this.all<R>(name, text, values))[0];
  }

  notify(task: string, row: string): void {
    this.#jobs.set(`${task}:${row}`, { task, row });
  }

  /** One statement for all of them, in one order, so that two transactions do not wait for each other. */
  async send(): Promise<void> {
    if (this.#jobs.size === 0) return;
    const keys = [...this.#jobs.keys()].sort();
    const jobs = keys.map((key) => this.#jobs.get(key)!);
    await this.all(
      "add jobs",
      `select graphile_worker.add_jobs(array(
        select row(task, json_build_object('row', target), null, now(), 25::smallint, task || ':' || target, priority, null)::graphile_worker.job_spec
        from unnest($1::text[], $2::text[], $3::smallint[]) as jobs(task, target, priority)
      ))`,
      [jobs.map(({ task }) => task), jobs.map(({ row }) => row), jobs.map(({ task }) => priorities[task])],
    );
  }
}

/**
 * Runs a transaction, and again where it met another in a deadlock. Read committed with the rows locked that it decides by: under
 * repeatable read, jobs that several transactions ask for at a time fail each other over and over.
 */
export async function transact(
  client: PoolClient,
  run: (session: Session) => Promise<void>,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const session = new Session(client);
    await client.query("begin");
    try {
      await run(session);
      await session.send();
      await client.query("commit");
      return attempt;
    } catch (error) {
      await client.query("rollback");
      if (!isConflict(error) || attempt >= mostAttempts) throw error;
    }
  }
}

function isConflict(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "40001" || code === "40P01" || code === "23505";
}
