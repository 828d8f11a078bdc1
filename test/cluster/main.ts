/** Plays rounds of faults on real processes: `npm run faults -- --help`. */
import { Option } from "commander";
import { commandOf, whole } from "../../examples/support/command.js";
import { Random } from "../crash/random.js";
import { buildForCommand } from "../support/built/files.js";
import { type ClusterStore, clusterStores } from "./cluster.js";
import { everyFault, randomFault, victimsOn } from "./faults.js";
import { playRounds } from "./rounds.js";

const { store, rounds, members, seed } = commandOf(
  "faults",
  "Ends and cuts off processes of a cluster, and verifies the database.",
)
  .addOption(new Option("--store <store>", "of the database").choices(clusterStores).default("bigtable"))
  .option("--rounds <number>", "how many faults", whole(1), 50)
  .option("--members <number>", "processes of the cluster", whole(1), 3)
  .option("--seed <text>", "decides what happens", String(Date.now()))
  .parse()
  .opts<{ store: ClusterStore; rounds: number; members: number; seed: string }>();
const victims = victimsOn[store];
const each = everyFault(new Random(seed), victims);
const drawn = (random: Random) => randomFault(random, victims);
const faults = Array.from({ length: rounds }, (_, index) => each[index] ?? drawn);
process.stdout.write(`${store}, seed ${seed}, ${rounds} rounds\n`);
buildForCommand();
const operations = await playRounds(seed, faults, {
  store,
  members,
  onRound: (round, fault, done, seconds) =>
    process.stdout.write(`${round}: ${JSON.stringify(fault)}, ${done} operations, ${seconds.toFixed(1)} s\n`),
});
process.stdout.write(`${rounds} rounds, ${operations} operations, all as it must be\n`);
