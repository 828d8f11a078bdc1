import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, observer, open } from "percolatordb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Committer } from "./told.js";
import { told } from "./told-table.js";

/** `PERCOLATOR_TOLD=3000` gives more rounds. */
const rounds = Number(process.env.PERCOLATOR_TOLD ?? 300);

let base: string;
let number = 0;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "percolatordb-told-"));
});

afterAll(async () => {
  await rm(base, { recursive: true, force: true });
});

interface Pair {
  readonly db: Database;
  readonly committer: Committer;
  readonly path: string;
}

/** Opens a database here, and starts a process that commits to it on demand. */
async function withPair(
  commit: "one-phase" | "two-phase",
  run: (pair: Pair) => Promise<void>,
  observers: Parameters<typeof open>[1] = {},
): Promise<void> {
  const path = join(base, `store-${++number}`);
  const pipes = join(base, `pipes-${number}`);
  await mkdir(pipes);
  const db = await open(path, {
    tables: [told],
    durability: "none",
    collectEveryMs: 0,
    commit: commit === "two-phase" ? "two-phase" : undefined,
    ...observers,
  });
  const committer = new Committer(path, pipes, commit);
  try {
    await committer.answered();
    await run({ db, committer, path });
  } finally {
    await committer.end();
    await db.close();
  }
}

const valueIn = (db: Database) => db.transact((tx) => tx.get(told.value, "row"));

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe.skipIf(process.platform === "win32")("a commit that was confirmed to another process", () => {
  it("is seen by every later transaction, during constant reads by others", async () => {
    await withPair("one-phase", async ({ db, committer }) => {
      const missed: number[] = [];
      let isDone = false;
      const busy = (async () => {
        while (!isDone) {
          await valueIn(db);
          await nextTurn();
        }
      })();
      for (let round = 1; round <= rounds; round++) {
        // Makes sure that a recent snapshot is cached.
        await valueIn(db);
        await committer.commit();
        if ((await valueIn(db)) !== round) missed.push(round);
        if (round % 10 === 0) await nextTurn();
      }
      isDone = true;
      await busy;
      expect(missed).toEqual([]);
    });
  });

  it("is seen by every later transaction, with two-phase commits", async () => {
    await withPair("two-phase", async ({ db, committer }) => {
      for (let round = 1; round <= 50; round++) {
        await valueIn(db);
        await committer.commitMeanwhile();
        expect(await valueIn(db)).toBe(round);
      }
    });
  });

  it("is seen by a snapshot, a history, an inspection, the pending changes, and the statistics", async () => {
    const idle = observer("idle", told.value, async () => undefined);
    await withPair(
      "one-phase",
      async ({ db, committer }) => {
        // Each is the first read after a commit, so that no earlier read renews the snapshot for
        // it.
        const looks: Readonly<Record<string, () => Promise<unknown>>> = {
          snapshot: async () => {
            await using snapshot = await db.snapshot();
            return snapshot.get(told.value, "row");
          },
          history: async () => (await db.history(told.value, "row")).length,
          inspect: async () => {
            const columns = await db.inspect(told, "row");
            return columns.reduce((most, { writes }) => Math.max(most, writes.length), 0);
          },
          pending: async () => (await all(db.pending()))[0]?.timestamp,
          pendingOf: async () => (await db.pendingOf(told, "row"))[0]?.timestamp,
          latest: async () => (await db.status()).latestTimestamp,
        };
        for (const [name, look] of Object.entries(looks)) {
          const before = await look();
          await valueIn(db);
          await committer.commit();
          expect(await look(), name).not.toEqual(before);
        }
      },
      { observers: [idle] },
    );
  });

  it("is handled when drain or idle resolves", async () => {
    const copy = observer("copy", told.value, async (tx, { row, value }) => tx.set(told.seen, row, value!));
    await withPair(
      "one-phase",
      async ({ db, committer }) => {
        const seen = () => db.transact((tx) => tx.get(told.seen, "row"));
        for (let round = 1; round <= 10; round++) {
          await seen();
          await committer.commit();
          await db.drain();
          expect(await seen(), `drain ${round}`).toBe(round);
        }
        const worker = db.work();
        for (let round = 11; round <= 20; round++) {
          await worker.idle();
          await seen();
          await committer.commit();
          await db.idle();
          expect(await seen(), `idle ${round}`).toBe(round);
        }
        await worker.stop();
      },
      { observers: [copy] },
    );
  });
});
