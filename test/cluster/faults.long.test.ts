import { test } from "vitest";
import { Random } from "../crash/random.js";
import { clusterStores } from "./cluster.js";
import { everyFault, randomFault, victimsOn } from "./faults.js";
import { playRounds } from "./rounds.js";

const seed = process.env.PERCOLATOR_SEED ?? String(Math.floor(Math.random() * 1e9));
const runs = Number(process.env.PERCOLATOR_RUNS ?? 1);

// `npm run faults` plays any number of rounds, with every kind of fault.
test.each(clusterStores)(
  `on %s, seed ${seed}: processes die, are stopped, and lose their connections`,
  async (store) => {
    const random = new Random(seed);
    const victims = victimsOn[store];
    const each = everyFault(random, victims);
    const from = random.below(each.length);
    // Each seed plays the three most effective faults, and one of the other faults in turn.
    const always = [each[0]!, each[1]!, each[2]!];
    const faults = [...always, each[3 + (from % (each.length - 3))]!];
    for (let run = 1; run < runs; run++) faults.push(...each.slice(3), randomFault(random, victims));
    await playRounds(seed, faults, { store, members: 2 });
  },
  1_200_000,
);
