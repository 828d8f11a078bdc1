/**
 * Kills many processes and verifies the database after each round: `npm run kill -- [--kills 200]
 * [--seed TEXT] [--life N]`. For a failure it prints the command that plays the rounds of that
 * folder again. The operations, orders and failpoints are then the same, but the exact moments are
 * not.
 */
import { parseArgs } from "node:util";
import { newTally } from "./life.js";
import { type PlanOf, playLife } from "./lives.js";
import { everyFailpoint, randomPlan } from "./plans.js";

const { values } = parseArgs({
  options: { kills: { type: "string", default: "200" }, seed: { type: "string" }, life: { type: "string" } },
});
const kills = Number(values.kills);
const seed = values.seed ?? String(process.pid);
const roundsOfLife = 10;
const lanes = 2;
const printEveryMs = 15_000;

const sweep = everyFailpoint("SIGKILL");
const tally = newTally();
const startedAt = performance.now();
let failed = false;
let nextLife = 0;

const say = (text: string) => process.stdout.write(`${text}\n`);
const isOver = () => failed || (values.life === undefined && tally.kills >= kills);

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

say(`Seed ${seed}.`);
const printing = setInterval(() => say(summary()), printEveryMs);
if (values.life !== undefined) await live(Number(values.life));
else await Promise.all(Array.from({ length: lanes }, lane));
clearInterval(printing);
say(`${summary()}. ${tally.stopsInLock} of the stops came while a lock of LMDB's was held.`);
say(
  failed
    ? "FAILED."
    : "After each round: nothing lost, nothing done twice, every table equal to the twin's, no lock, no hint.",
);
process.exitCode = failed ? 1 : 0;
