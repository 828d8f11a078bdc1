import { randomBytes } from "node:crypto";
import { bytes, type Database, int, observer, PercolatorError, table } from "percolatordb";

/** The load of the tests in which a file system of the server becomes full. */

const files = table("files", { contents: bytes(), size: int(), runs: int() });
const measure = observer("measure", files.contents, async (tx, { row, value }) => {
  tx.set(files.size, row, value?.length ?? 0);
  tx.set(files.runs, row, ((await tx.get(files.runs, row)) ?? 0) + 1);
});
const fileBytes = 30_000;

export const fillingOptions = { tables: [files], observers: [measure], collectEveryMs: 0 };

/** Writes names, each as two rows in one transaction, and remembers what became of them. */
export class Filling {
  readonly #db: Database;
  readonly #timeoutMs: number | undefined;
  readonly #stored = new Set<string>();
  readonly #refused = new Set<string>();
  /** The codes of the errors so far. */
  readonly errors = new Set<string>();

  constructor(db: Database, timeoutMs?: number) {
    this.#db = db;
    this.#timeoutMs = timeoutMs;
  }

  get stored(): number {
    return this.#stored.size;
  }

  /** Returns whether the name was stored. A commit with an unknown outcome counts as neither stored nor refused. */
  async write(name: string): Promise<boolean> {
    // Random bytes cannot be compressed.
    const contents = randomBytes(fileBytes);
    try {
      await this.#db.transact(
        (tx) => {
          for (const half of ["a", "b"]) tx.set(files.contents, `${name} ${half}`, contents);
        },
        this.#timeoutMs === undefined ? {} : { timeoutMs: this.#timeoutMs },
      );
      this.#stored.add(name);
      return true;
    } catch (error) {
      const code = error instanceof PercolatorError ? error.code : String(error);
      this.errors.add(code);
      if (code !== "COMMIT_OUTCOME_UNKNOWN") this.#refused.add(name);
      return false;
    }
  }

  /** Stored names that lack a row, refused names that have one, and names with one row only. */
  async wrong(): Promise<number> {
    await using snapshot = await this.#db.snapshot();
    const rows = new Set<string>();
    for await (const { row } of snapshot.scan(files.contents)) rows.add(row);
    const has = (name: string) => ["a", "b"].filter((half) => rows.has(`${name} ${half}`)).length;
    return (
      [...this.#stored].filter((name) => has(name) !== 2).length +
      [...this.#refused].filter((name) => has(name) > 0).length +
      [...rows].filter((row) => has(row.slice(0, -2)) !== 2).length
    );
  }

  /** Rows whose observer has not run, or has run more than once. */
  async runs(): Promise<{ readonly unmeasured: number; readonly doubled: number }> {
    await using snapshot = await this.#db.snapshot();
    let unmeasured = 0;
    let doubled = 0;
    for await (const { value } of snapshot.scan(files)) {
      if (value.size !== fileBytes) unmeasured++;
      if (value.runs !== 1) doubled++;
    }
    return { unmeasured, doubled };
  }
}
