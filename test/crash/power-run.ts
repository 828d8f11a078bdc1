/**
 * The recorded program: processes on one folder. A tracer sees all their writes and syncs.
 * Arguments: the folder, and the scenario as JSON.
 */
import { join } from "node:path";
import { until } from "../support/waiting.js";
import { journalOf, type Scenario, writersOf } from "./power-scenario.js";
import type { VictimOrders } from "./victim.js";
import { Victim } from "./victim-process.js";

function ordersFor(
  folder: string,
  writer: string,
  { commit, durability, most, concurrency }: Scenario,
): VictimOrders {
  return {
    folder: join(folder, "data"),
    journal: journalOf(folder, writer),
    writer,
    role: "collect",
    commit,
    generation: { version: 1, late: false },
    failpoint: undefined,
    concurrency,
    leavesLocks: false,
    lockTtlMs: 120,
    durability,
    most,
    stays: false,
  };
}

/** Kills a process when a third of its operations are answered. */
async function killAmid(victim: Victim, most: number): Promise<void> {
  await until(() => victim.hasEnded || victim.told.length > most / 3);
  await victim.kill();
}

async function run(folder: string, scenario: Scenario): Promise<void> {
  const writers = writersOf(scenario.course);
  const victims = writers.map(() => new Victim());
  const { course, most } = scenario;
  const together = course === "two" || course === "survivor";
  const begun = victims.map(() => Promise.resolve());
  for (const [index, victim] of victims.entries()) {
    begun[index] = victim.start(ordersFor(folder, writers[index]!, scenario));
    if (!together) await begun[index];
    if (course === "killed" && index < victims.length - 1) await killAmid(victim, most);
  }
  await Promise.all(begun);
  if (course === "survivor") await killAmid(victims[0]!, most);
  for (const victim of victims) {
    await victim.ended();
    if (victim.end !== "0" && victim.end !== "SIGKILL")
      throw new Error(`Ended with ${victim.end}: ${victim.errors}`);
  }
}

const [folder, scenario] = process.argv.slice(2) as [string, string];
await run(folder, JSON.parse(scenario) as Scenario);
