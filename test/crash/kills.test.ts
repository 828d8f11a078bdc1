import { expect, test } from "vitest";
import { newTally, type Plan } from "./life.js";
import { type PlanOf, playLife } from "./lives.js";
import type { Random } from "./random.js";
import type { Role } from "./victim.js";

const roles: readonly Role[] = ["load", "observe", "collect", "backfill"];

/**
 * A plan with one process or more. The first does the work of `role` and is killed at a random
 * moment.
 */
const killed =
  (role: Role, commit: Plan["commit"], others: readonly Role[], isCrowded = false): PlanOf =>
  (random: Random) => ({
    commit,
    roles: [role, ...others],
    fault: { type: "kill", afterMs: random.below(300) },
    renews: role === "backfill",
    isCrowded,
  });

test("a process can be killed at any moment, alone or while other processes continue", async () => {
  const tally = newTally();
  await Promise.all([
    playLife(
      "kills:alone",
      roles.map((role, index) => killed(role, index % 2 ? "auto" : "two-phase", [])),
      tally,
    ),
    playLife(
      "kills:crowded",
      [killed("load", "auto", [], true), killed("observe", "auto", ["load"], true)],
      tally,
    ),
    playLife(
      "kills:beside",
      [killed("observe", "auto", ["collect"]), killed("backfill", "two-phase", ["observe"])],
      tally,
    ),
  ]);
  expect(tally.rounds).toBe(8);
  expect(tally.kills).toBe(11);
}, 300_000);
