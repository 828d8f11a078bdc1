/** Plays rounds of faults on real processes: `npm run faults -- [--rounds N] [--seed S] [--members N]`. */
import { parseArgs } from "node:util";
import { Random } from "../crash/random.js";
import { everyBlow, randomBlow } from "./blows.js";
import { playRounds } from "./rounds.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "50" },
    members: { type: "string", default: "3" },
    seed: { type: "string", default: String(Date.now()) },
  },
});
const { seed } = values;
const rounds = Number(values.rounds);
const each = everyBlow(new Random(seed));
const blows = Array.from({ length: rounds }, (_, index) => each[index] ?? randomBlow);
process.stdout.write(`seed ${seed}, ${rounds} rounds\n`);
const operations = await playRounds(seed, blows, {
  members: Number(values.members),
  coordinators: 2,
  onRound: (round, blow, done, seconds) =>
    process.stdout.write(`${round}: ${JSON.stringify(blow)}, ${done} operations, ${seconds.toFixed(1)} s\n`),
});
process.stdout.write(`${rounds} rounds, ${operations} operations, all as it must be\n`);
