/**
 * Kills many processes and verifies the database after each round: `npm run kill -- --help`. For a
 * failure it prints the command that plays the rounds of that
 * folder again. The operations, orders and failpoints are then the same, but the exact moments are
 * not.
 */
import { commandOf, whole } from "../../examples/support/command.js";
import { buildForCommand } from "../support/built/files.js";
import { newTally } from "./life.js";
import { type PlanOf, playLife } from "./lives.js";
import { everyFailpoint, randomPlan } from "./plans.js";

const { kills, seed, life } = commandOf(
  "kill",
  "Kills processes at any moment, and verifies the database after each round.",
)
  .option("--kills <number>", "how many", whole(1), 200)
  .option("--seed <text>", "decides what happens", String(process.pid))
  .option("--life <number>", "play only the rounds of this folder", whole(0))
  .parse()
  .opts<{ kills: number; seed: string; life?: number }>();
const roundsOfLife = 10;
const lanes = 2;
const printEveryMs = 15_000;

const sweep = everyFailpoint("SIGKILL");
const tally = newTally();
const startedAt = performance.now();
let failed = false;
let nextLife = 0;

const say = (text: string) => process.stdout.write(`${text}\n`);
const isOver = () => failed || (life === undefined && tally.kills >= kills);

/** Every failpoint once, then random plans. */
function* plansOf(life: number): Generator<PlanOf> {
  for (let round = 0; round < roundsOfLife && !isOver(); round++) {
    yield sweep[life * roundsOfLife + round] ?? randomPlan;
  }
}

async function live(life: number): Promise<void> {
  try {
    await playLife(`${seed}:${life}`, plansOf(life), tally);
  } catch (error) {
    failed = true;
    say(`FAILED. ${error instanceof Error ? error.message : String(error)}`);
    say(`Again: npm run kill -- --seed ${seed} --life ${life}`);
  }
}

async function lane(): Promise<void> {
  while (!isOver()) await live(nextLife++);
}

function summary(): string {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  return (
    `${tally.kills} kills and ${tally.stops} stops in ${tally.rounds} rounds; ${tally.struck} of ${tally.planned} ` +
    `failpoints reached; ${tally.told} operations told committed; ${seconds} s`
  );
}

buildForCommand();
say(`Seed ${seed}.`);
const printing = setInterval(() => say(summary()), printEveryMs);
if (life !== undefined) await live(life);
else await Promise.all(Array.from({ length: lanes }, lane));
clearInterval(printing);
say(`${summary()}. ${tally.stopsInLock} of the stops came while a lock of LMDB's was held.`);
say(
  failed
    ? "FAILED."
    : "After each round: nothing lost, nothing done twice, every table equal to the twin's, no lock, no hint.",
);
process.exitCode = failed ? 1 : 0;
