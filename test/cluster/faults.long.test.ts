import { test } from "vitest";
import { Random } from "../crash/random.js";
import { everyBlow, randomBlow } from "./blows.js";
import { playRounds } from "./rounds.js";

const seed = process.env.PERCOLATOR_SEED ?? String(Math.floor(Math.random() * 1e9));
const runs = Number(process.env.PERCOLATOR_RUNS ?? 1);

// `npm run faults` plays any number, of every kind.
test(`seed ${seed}: processes on Bigtable that die, stand still, and lose their connections`, async () => {
  const random = new Random(seed);
  const each = everyBlow(random);
  const from = random.below(each.length);
  // The most telling ones always, and others by turns.
  const always = [each[0]!, each[1]!, each[2]!];
  const blows = [...always, each[3 + (from % (each.length - 3))]!];
  for (let run = 1; run < runs; run++) blows.push(...each.slice(3), randomBlow(random));
  await playRounds(seed, blows, { members: 2, coordinators: 2 });
}, 1_200_000);
