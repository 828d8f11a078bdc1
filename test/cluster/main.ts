/**
 * Plays rounds of faults on real processes: `npm run faults -- [--rounds N] [--seed S] [--members
 * N]`.
 */
import { parseArgs } from "node:util";
import { Random } from "../crash/random.js";
import { everyFault, randomFault } from "./faults.js";
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
const each = everyFault(new Random(seed));
const faults = Array.from({ length: rounds }, (_, index) => each[index] ?? randomFault);
process.stdout.write(`seed ${seed}, ${rounds} rounds\n`);
const operations = await playRounds(seed, faults, {
  members: Number(values.members),
  coordinators: 2,
  onRound: (round, fault, done, seconds) =>
    process.stdout.write(`${round}: ${JSON.stringify(fault)}, ${done} operations, ${seconds.toFixed(1)} s\n`),
});
process.stdout.write(`${rounds} rounds, ${operations} operations, all as it must be\n`);
