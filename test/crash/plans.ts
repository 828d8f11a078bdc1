import { failpoints } from "./failpoints.js";
import type { Fault, Plan } from "./life.js";
import type { Random } from "./random.js";
import type { Role } from "./victim.js";

const roles: readonly Role[] = ["load", "observe", "collect", "backfill"];

/** Draws a random round: mostly kills, at any moment or at failpoints, and some stops. */
export function randomPlan(random: Random): Plan {
  const commit = random.pick(["auto", "two-phase"] as const);
  const first = random.pick(roles);
  const others = random.pick([0, 0, 0, 1, 1, 2]);
  return {
    commit,
    roles: [first, ...Array.from({ length: others }, () => random.pick(roles))],
    fault: randomFault(commit, random),
    renews: first === "backfill",
    // With the short-lived locks here, so many transactions in two phases would only conflict.
    isCrowded: commit === "auto" && random.chance(0.4),
  };
}

function randomFault(commit: "auto" | "two-phase", random: Random): Fault {
  const kind = random.next();
  if (kind < 0.5) return { type: "kill", afterMs: random.below(400) };
  if (kind < 0.6)
    return { type: "stop", afterMs: random.below(400), afterwards: random.pick(["continue", "kill"]) };
  const signal = random.chance(0.85) ? "SIGKILL" : "SIGSTOP";
  const step = random.pick(failpoints[commit]);
  return {
    type: "failpoint",
    failpoint: {
      step,
      when: random.pick(["before", "after"]),
      occurrence: 1 + random.below(occurrences(step)),
      signal,
    },
    afterwards: random.pick(["continue", "kill"]),
  };
}

/** Steps that every transaction makes are frequent. Steps of lock resolution are rare. */
function occurrences(step: string): number {
  if (step === "fence-primary" || step === "push" || step === "refresh") return 2;
  return /^(rollback|roll|validate)/.test(step) ? 6 : 100;
}

/** Returns two rounds for each failpoint, before and after its step. The roles alternate. */
export function everyFailpoint(signal: "SIGKILL" | "SIGSTOP"): readonly Plan[] {
  const plans: Plan[] = [];
  for (const commit of ["auto", "two-phase"] as const) {
    for (const step of failpoints[commit]) {
      for (const when of ["before", "after"] as const) {
        const role = roles[plans.length % roles.length]!;
        plans.push({
          commit,
          roles: [role],
          fault: {
            type: "failpoint",
            failpoint: { step, when, occurrence: Math.ceil(occurrences(step) / 2), signal },
            afterwards: plans.length % 2 === 0 ? "continue" : "kill",
          },
          renews: role === "backfill",
          isCrowded: false,
        });
      }
    }
  }
  return plans;
}
