/** Plays rounds of faults on real processes: `npm run faults -- --help`. */
import { commandOf, whole } from "../../examples/support/command.js";
import { Random } from "../crash/random.js";
import { buildForCommand } from "../support/built/files.js";
import { everyFault, randomFault } from "./faults.js";
import { playRounds } from "./rounds.js";

const { rounds, members, seed } = commandOf(
  "faults",
  "Ends and cuts off processes of a cluster, and verifies the database.",
)
  .option("--rounds <number>", "how many faults", whole(1), 50)
  .option("--members <number>", "processes of the cluster", whole(1), 3)
  .option("--seed <text>", "decides what happens", String(Date.now()))
  .parse()
  .opts<{ rounds: number; members: number; seed: string }>();
const each = everyFault(new Random(seed));
const faults = Array.from({ length: rounds }, (_, index) => each[index] ?? randomFault);
process.stdout.write(`seed ${seed}, ${rounds} rounds\n`);
buildForCommand();
const operations = await playRounds(seed, faults, {
  members,
  coordinators: 2,
  onRound: (round, fault, done, seconds) =>
    process.stdout.write(`${round}: ${JSON.stringify(fault)}, ${done} operations, ${seconds.toFixed(1)} s\n`),
});
process.stdout.write(`${rounds} rounds, ${operations} operations, all as it must be\n`);
