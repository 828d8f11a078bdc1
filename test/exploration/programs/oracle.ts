import { gatheredOracle, OracleLeader } from "../../../src/oracle/index.js";
import type { ClientHandle, Program } from "../../../src/testing/exploration/index.js";
import { note } from "./note.js";

/**
 * The name of the shared value in which clients note when they request a timestamp and when they
 * get it. The check of the oracle compares these notes.
 */
const issued = "issued";

function greatest(client: ClientHandle): number {
  return (client.shared.get("greatest") as number | undefined) ?? 0;
}

/** Requests a timestamp. It must be greater than all that were returned before the request. */
async function ask(client: ClientHandle, next: () => Promise<number>): Promise<void> {
  const before = await note(client, issued, "asks for a timestamp", () => greatest(client));
  const timestamp = await next();
  await note(client, issued, `is answered ${timestamp}`, () => {
    if (timestamp <= before)
      throw new Error(`${client.name} asked after ${before} had been given, and got ${timestamp}`);
    client.shared.set("greatest", Math.max(greatest(client), timestamp));
  });
}

/** Stands for election, and requests timestamps after it becomes the leader. */
async function candidate(client: ClientHandle, asks: number, leaseMs = 1_000): Promise<void> {
  const { store, environment, name } = client;
  let lead = () => {};
  const leads = new Promise<void>((resolve) => {
    lead = resolve;
  });
  const leader = new OracleLeader({
    store,
    environment,
    name,
    leaseMs,
    renewEveryMs: 0.9 * leaseMs,
    windowMs: 1_000_000,
    requestTimeoutMs: 400,
    onChange: ({ role }) => {
      if (role === "leading") lead();
    },
  });
  leader.start();
  try {
    await leads;
    for (let asked = 0; asked < asks; asked++) await ask(client, async () => (await leader.next()).first);
  } finally {
    await leader.stop();
  }
}

export const twoLeaders: Program = {
  name: "two oracle leaders, one after the other",
  atomicBatches: false,
  clients: { L1: (client) => candidate(client, 1), L2: (client) => candidate(client, 1) },
  faults: { lostAnswers: 1 },
  timePasses: 1,
};

/**
 * Time passes while the leader is paused. It must not answer once the other candidate may have
 * become the leader.
 */
export const leaderStandsStill: Program = {
  name: "an oracle leader that stands still for longer than its lease",
  atomicBatches: false,
  clients: { L1: (client) => candidate(client, 1), L2: (client) => candidate(client, 1, 3_000) },
  timePasses: 2,
};

/**
 * One process requests two timestamps through a batching client. The other one asks the oracle
 * directly.
 */
export const gathering: Program = {
  name: "a gathering client beside another process",
  atomicBatches: false,
  clients: {
    A: async (client) => {
      const { environment, oracle } = client;
      const take = async (count: number) => {
        const first = await oracle.next();
        let last = first;
        while (last < first + count - 1) last = await oracle.next();
        return { first, count };
      };
      const gathered = gatheredOracle({ environment, request: take });
      const next = () => gathered.next();
      await Promise.all([ask(client, next), ask(client, next)]);
    },
    B: (client) => ask(client, () => client.oracle.next()),
  },
};
