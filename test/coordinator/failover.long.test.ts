import { systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";
import { type CoordinatorClient, connectCoordinator } from "../../src/coordinator/index.js";
import { pause, until } from "../support/waiting.js";
import { Candidate } from "./candidate.js";

/** The number of failovers. `PERCOLATOR_RUNS=50` gives the number that the documentation claims. */
const failovers = Number(process.env.PERCOLATOR_RUNS ?? 4);
const leaseMs = 500;
const clientCount = 3;
const callersOfClient = 4;

/**
 * Checks timestamps as clients get them: each is greater than all that were returned before it was
 * requested.
 */
class Witness {
  greatest = 0;
  answers = 0;
  readonly problems: string[] = [];
  #isOver = false;
  readonly #given: number[] = [];

  async ask({ oracle }: CoordinatorClient): Promise<void> {
    while (!this.#isOver && this.problems.length === 0) {
      const before = this.greatest;
      try {
        const timestamp = await oracle.next();
        if (timestamp <= before) this.problems.push(`${timestamp} was given after ${before}.`);
        this.greatest = Math.max(this.greatest, timestamp);
        this.answers++;
        this.#given.push(timestamp);
      } catch (error) {
        this.problems.push(String(error));
      }
      await pause(1);
    }
  }

  end(): void {
    this.#isOver = true;
  }

  get hasRepetitions(): boolean {
    return new Set(this.#given).size < this.#given.length;
  }
}

/** Waits until clients get further timestamps. */
async function goesOn(witness: Witness, candidates: ReadonlySet<Candidate>): Promise<void> {
  const { answers } = witness;
  const isOn = () => witness.answers > answers + clientCount * callersOfClient;
  await until(() => isOn() || witness.problems.length > 0);
  const said = [...candidates].map((candidate) => `${candidate.address}:\n${candidate.lastWords}`);
  if (witness.problems.length > 0 || !isOn()) {
    throw new Error(["It does not go on.", ...witness.problems.slice(0, 2), ...said].join("\n"));
  }
}

const ways = ["SIGKILL", "SIGSTOP", "SIGTERM", "everybody"] as const;

/** Returns the leader by the latest output. Between two leaders there may be none. */
function leaderAmong(candidates: ReadonlySet<Candidate>): Candidate | undefined {
  const leading = [...candidates].filter((each) => each.role === "leading");
  return leading.sort((a, b) => b.epochs.at(-1)! - a.epochs.at(-1)!)[0];
}

/** Returns the current leader. If there is none, waits for the next one. */
async function someLeader(candidates: ReadonlySet<Candidate>): Promise<Candidate> {
  await until(() => leaderAmong(candidates) !== undefined);
  const leader = leaderAmong(candidates);
  if (leader === undefined) throw new Error("Nobody leads.");
  return leader;
}

test(`timestamps rise and none comes twice, across ${failovers} failovers and restarts`, async () => {
  const store = memoryStore({ atomicBatches: false });
  const candidates = new Set<Candidate>();
  const start = async () => {
    const candidate = new Candidate(store, leaseMs);
    candidates.add(candidate);
    return await candidate.started();
  };
  await Promise.all([start(), start()]);
  const environment = systemEnvironment;
  const clients = Array.from({ length: clientCount }, () =>
    connectCoordinator({ environment, store, attemptMs: 500, retryForMs: 60_000 }),
  );
  const witness = new Witness();
  const asking = clients.flatMap((client) =>
    Array.from({ length: callersOfClient }, () => witness.ask(client)),
  );
  const epochs = new Set<number>();
  try {
    for (let round = 0; round < failovers; round++) {
      await goesOn(witness, candidates);
      const leader = await someLeader(candidates);
      for (const epoch of leader.epochs) epochs.add(epoch);
      const way = ways[round % ways.length]!;
      if (way === "SIGSTOP") {
        leader.signal("SIGSTOP");
        const epoch = leader.epochs.at(-1)!;
        await until(() => (leaderAmong(candidates)?.epochs.at(-1) ?? 0) > epoch);
        await goesOn(witness, candidates);
        // The former leader continues, and for a moment still believes that it is the leader.
        leader.signal("SIGCONT");
        continue;
      }
      const ending = way === "everybody" ? [...candidates] : [leader];
      const replacements = ending.map(() => start());
      for (const each of ending) each.signal(way === "SIGTERM" ? "SIGTERM" : "SIGKILL");
      for (const each of ending) {
        await each.ended();
        candidates.delete(each);
      }
      await Promise.all(replacements);
    }
    await goesOn(witness, candidates);
  } finally {
    witness.end();
    await Promise.all(asking);
    for (const client of clients) await client.close();
    for (const candidate of candidates) await candidate.kill();
    await store.close();
  }
  for (const candidate of candidates) for (const epoch of candidate.epochs) epochs.add(epoch);
  expect(witness.problems).toEqual([]);
  expect(witness.hasRepetitions).toBe(false);
  // Each kind of failover ends an epoch.
  expect(epochs.size).toBeGreaterThan(failovers);
}, 600_000);
