import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, int, open, systemEnvironment, type TransactOptions, table } from "percolatordb";
import { expect, test } from "vitest";
import { connectCoordinator } from "../../src/coordinator/index.js";
import { pause } from "../support/waiting.js";
import { Candidate } from "./candidate.js";
import { openSharedStore } from "./shared-store.js";

const accounts = table("accounts", { balance: int() });
const names = ["a", "b", "c", "d"];
const environment = systemEnvironment;

/**
 * How long there is no coordinator. Like all times in this test, it is shorter than in operation.
 */
const awayMs = 2_000;

interface Counts {
  committed: number;
  /** The codes of the errors with which transactions failed. */
  readonly failed: Map<string, number>;
}

/** Transfers money between accounts until it is stopped. */
async function transfer(
  db: Database,
  options: TransactOptions,
  signal: AbortSignal,
  counts: Counts,
): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    const [from, to] = [names[turn % 4]!, names[(turn + 1 + (turn % 3)) % 4]!];
    try {
      await db.transact(async (tx) => {
        const [left, right] = [await tx.get(accounts.balance, from), await tx.get(accounts.balance, to)];
        tx.set(accounts.balance, from, left! - 1);
        tx.set(accounts.balance, to, right! + 1);
      }, options);
      counts.committed++;
    } catch (error) {
      const { code } = error as { code: string };
      counts.failed.set(code, (counts.failed.get(code) ?? 0) + 1);
    }
    await pause(1);
  }
}

test("while the coordinator is away transactions wait, or fail with a named error; then they continue by themselves", async () => {
  const folder = await mkdtemp(join(tmpdir(), "percolator-away-"));
  const stores = await Promise.all([openSharedStore(folder), openSharedStore(folder)]);
  let candidate = await new Candidate(folder, 500).started();
  const client = (retryForMs: number, index: number) =>
    connectCoordinator({ environment, store: stores[index]!, retryForMs, attemptMs: 500 });
  const clients = [client(60_000, 0), client(200, 1)];
  const databases = await Promise.all(
    clients.map(({ oracle }, index) =>
      open(stores[index]!, { tables: [accounts], oracle, collectEveryMs: 0 }),
    ),
  );
  const [patient, hasty] = databases as [Database, Database];
  const counts = [0, 1].map((): Counts => ({ committed: 0, failed: new Map() }));
  const ending = new AbortController();
  try {
    await patient.transact(async (tx) => {
      for (const name of names) tx.set(accounts.balance, name, 100);
    });
    const working = [
      transfer(patient, {}, ending.signal, counts[0]!),
      transfer(hasty, { retries: 0 }, ending.signal, counts[1]!),
    ];
    const goOn = async () => {
      const before = counts.map(({ committed }) => committed);
      const areOn = () => counts.every(({ committed }, index) => committed > before[index]! + 5);
      while (!areOn()) await pause(5);
    };
    await goOn();
    await candidate.kill();
    await pause(awayMs);
    candidate = await new Candidate(folder, 500).started();
    await goOn();
    ending.abort();
    await Promise.all(working);
    // The first process waits as long as necessary. The second one got a named error at once.
    expect([...counts[0]!.failed.keys()].filter((code) => code !== "CONFLICT")).toEqual([]);
    expect(counts[1]!.failed.get("ORACLE_UNAVAILABLE")).toBeGreaterThan(0);
    const other = [...counts[1]!.failed.keys()].filter((code) => code !== "CONFLICT");
    expect(other).toEqual(["ORACLE_UNAVAILABLE"]);
    const balances = await patient.transact(
      async (tx) => await Promise.all(names.map((name) => tx.get(accounts.balance, name))),
    );
    expect(balances.reduce<number>((sum, balance) => sum + balance!, 0)).toBe(400);
    const problems = [];
    for await (const problem of await hasty.check()) problems.push(problem);
    expect(problems).toEqual([]);
  } finally {
    ending.abort();
    await candidate.kill();
    for (const db of databases) await db.close();
    for (const each of clients) await each.close();
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
