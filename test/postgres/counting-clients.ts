import { CommitOutcomeUnknownError, type Database, int, observer, table } from "percolatordb";
import { expect } from "vitest";

const counters = table("counters", { value: int(), doubled: int() });
const double = observer("double", counters.value, (tx, { row, value }) =>
  tx.set(counters.doubled, row, 2 * (value ?? 0)),
);

/** What a database of {@link CountingClients} is opened with. */
export const counting = { tables: [counters], observers: [double] };

/** The row that every fourth client increments too, so that transactions conflict. */
const shared = "all";

interface Client {
  readonly row: string;
  readonly isSharing: boolean;
  /** Commits that were acknowledged, and commits with an unknown outcome. */
  acknowledged: number;
  unknown: number;
}

/**
 * Clients that increment counters without a pause while a test disturbs the server. Each client
 * counts what it was told. If an acknowledged commit is lost, or one that was reported as failed is
 * there, {@link expectSound} finds counters that do not agree.
 */
export class CountingClients {
  readonly #db: Database;
  readonly #clients: readonly Client[];
  readonly #running: Promise<unknown>;
  #isOver = false;

  constructor(db: Database, name = "", clients = 24) {
    this.#db = db;
    this.#clients = Array.from({ length: clients }, (_, index) => ({
      row: `${name}${index}`,
      isSharing: index % 4 === 0,
      acknowledged: 0,
      unknown: 0,
    }));
    this.#running = Promise.all(this.#clients.map((client) => this.#run(client)));
    // `stop` reports the failure.
    this.#running.catch(() => undefined);
  }

  /** Commits acknowledged to all clients. */
  get acknowledged(): number {
    return this.#clients.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  }

  /** Commits whose outcome no client knows. */
  get unknown(): number {
    return this.#clients.reduce((sum, { unknown }) => sum + unknown, 0);
  }

  /** Waits until so many further commits are acknowledged, or a client has failed. */
  async progress(commits: number): Promise<void> {
    const target = this.acknowledged + commits;
    const wait = expect.poll(() => this.acknowledged).toBeGreaterThanOrEqual(target);
    await Promise.race([wait, this.#running]);
  }

  /** Ends the clients. Throws if one of them has failed. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(client: Client): Promise<void> {
    while (!this.#isOver) await this.#increment(client);
  }

  async #increment(client: Client): Promise<void> {
    const rows = client.isSharing ? [client.row, shared] : [client.row];
    try {
      await this.#db.transact(
        async (tx) => {
          for (const row of rows) tx.set(counters.value, row, ((await tx.get(counters.value, row)) ?? 0) + 1);
        },
        { retries: 10_000, timeoutMs: 100_000 },
      );
      client.acknowledged++;
    } catch (error) {
      if (!(error instanceof CommitOutcomeUnknownError)) throw error;
      client.unknown++;
    }
  }

  /** Commits, and expects that a worker of another database handles it. Nobody may drain meanwhile. */
  static async expectHandled(db: Database, value: number): Promise<void> {
    await db.transact((tx) => tx.set(counters.value, "last", value));
    await expect.poll(() => db.transact((tx) => tx.get(counters.doubled, "last"))).toBe(2 * value);
  }

  /**
   * Expects that `db` has each acknowledged commit once, and nothing that was reported as failed.
   * Call it after {@link stop}, when no observer has anything to do.
   */
  static async expectSound(db: Database, all: readonly CountingClients[]): Promise<void> {
    await using snapshot = await db.snapshot();
    let sharing = 0;
    for (const { row, isSharing, acknowledged, unknown } of all.flatMap((each) => each.#clients)) {
      const value = (await snapshot.get(counters.value, row)) ?? 0;
      expect(value, `client ${row}`).toBeGreaterThanOrEqual(acknowledged);
      expect(value, `client ${row}`).toBeLessThanOrEqual(acknowledged + unknown);
      expect((await snapshot.get(counters.doubled, row)) ?? 0, `client ${row}`).toBe(2 * value);
      if (isSharing) sharing += value;
    }
    expect((await snapshot.get(counters.value, shared)) ?? 0).toBe(sharing);
    expect(await db.check()).toEqual([]);
  }
}
