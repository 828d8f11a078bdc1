import type { SeededRandom, SimulatedClient, Workload } from "percolatordb/testing";
import { checkAll } from "./check.js";
import { Ledger } from "./ledger.js";
import { laterObservers, type ObservedWorld, observersOf } from "./observers.js";
import { steps } from "./steps.js";
import { tables } from "./tables.js";

/** The behaviour of one run's clients. */
interface Manner {
  readonly lanes: number;
  readonly stepsOfLane: number;
  readonly thinkMs: number;
  readonly weights: readonly (readonly [string, number])[];
}

/**
 * A bank, and a site from whose pages observers derive data. Together they use every feature of the
 * database.
 */
export function workload(random: SeededRandom): Workload {
  const world: ObservedWorld = { random: random.fork("observers"), fails: random.chance(0.5) };
  const observers = observersOf(world);
  const ledger = new Ledger(world, observers, 2 + random.below(4));
  const clients = 2 + random.below(3);
  const manner: Manner = {
    lanes: 1 + random.below(2),
    stepsOfLane: 2 + random.below(6),
    thinkMs: random.pick([0, 5, 50, 400]),
    // Each run has only some kinds of steps, so that these meet often.
    weights: Object.entries(steps).map(([name, { weight }]) => [name, random.chance(0.6) ? weight : 0]),
  };
  return {
    tables,
    observers,
    laterObservers,
    setup: (db) => ledger.setUp(db),
    clients: Array.from({ length: clients }, () => (client) => live(client, ledger, manner)),
    check: (db) => checkAll(db, ledger),
  };
}

async function live(client: SimulatedClient, ledger: Ledger, manner: Manner): Promise<void> {
  await Promise.all(Array.from({ length: manner.lanes }, (_, lane) => walk(client, ledger, manner, lane)));
}

async function walk(client: SimulatedClient, ledger: Ledger, manner: Manner, lane: number): Promise<void> {
  const random = client.random.fork(`lane ${lane}`);
  for (let number = 1; number <= manner.stepsOfLane; number++) {
    const kind = draw(random, manner.weights);
    const name = `${lane + 1}.${number} ${kind}`;
    await client.sleep(random.next() * manner.thinkMs);
    await client.step(name, (own) =>
      steps[kind]!.step({ client, db: client.db, ledger, random: own, name: `${client.name} ${name}` }),
    );
  }
}

function draw(random: SeededRandom, weights: Manner["weights"]): string {
  const sum = weights.reduce((total, [, weight]) => total + weight, 0);
  let place = random.next() * sum;
  for (const [name, weight] of weights) {
    place -= weight;
    if (place < 0) return name;
  }
  return "transfer";
}
