import type { Random } from "../crash/random.js";
import type { NetworkProxy, Way } from "../support/proxy/index.js";
import { pause } from "../support/waiting.js";
import type { ClusterStore, ProcessCluster } from "./cluster.js";
import { times } from "./members.js";

/** The kind of process that a fault affects. */
export type Victim = "member" | "leader";
/**
 * The connections that a fault affects: those to the store, or those from clients to the
 * coordinator.
 */
export type Link = "store" | "clients";

/** A fault in a cluster. */
export type Fault =
  | { readonly type: "kill"; readonly victim: Victim; readonly afterMs: number }
  | {
      readonly type: "stop";
      readonly victim: Victim;
      readonly forMs: number;
      readonly afterwards: "continue" | "kill";
    }
  | {
      readonly type: "delay";
      readonly victim: Victim;
      readonly link: Link;
      readonly ms: number;
      readonly forMs: number;
    }
  | {
      readonly type: "silence";
      readonly victim: Victim;
      readonly link: Link;
      readonly way: Way | "both";
      readonly forMs: number;
      /** Whether held messages arrive late or are lost. */
      readonly afterwards: "arrives" | "lost";
    }
  | {
      readonly type: "cuts";
      readonly victim: Victim;
      readonly link: Link;
      readonly times: number;
      readonly everyMs: number;
    }
  /** Loses single requests, or the answers to delivered requests. */
  | {
      readonly type: "lose";
      readonly victim: Victim;
      readonly link: Link;
      readonly way: Way;
      readonly times: number;
    }
  | { readonly type: "store stops"; readonly forMs: number };

/** The victims to draw from. PostgreSQL needs no coordinator, so it has no leader. */
export const victimsOn: Readonly<Record<ClusterStore, readonly Victim[]>> = {
  bigtable: ["member", "member", "leader"],
  postgres: ["member"],
};

/** Returns one fault of each kind that has a victim, so that a few rounds cover all kinds. */
export function everyFault(random: Random, victims: readonly Victim[]): readonly Fault[] {
  const long = times.leaseMs + 1_000;
  const all: readonly Fault[] = [
    { type: "kill", victim: "member", afterMs: random.below(300) },
    { type: "kill", victim: "leader", afterMs: random.below(300) },
    { type: "stop", victim: "leader", forMs: long, afterwards: "continue" },
    { type: "stop", victim: "member", forMs: times.lockTtlMs + 500, afterwards: "continue" },
    { type: "silence", victim: "member", link: "store", way: "up", forMs: 1_000, afterwards: "arrives" },
    { type: "silence", victim: "leader", link: "store", way: "down", forMs: long, afterwards: "arrives" },
    { type: "lose", victim: "member", link: "store", way: "down", times: 20 },
    { type: "cuts", victim: "leader", link: "clients", times: 10, everyMs: 60 },
    { type: "delay", victim: "member", link: "store", ms: 40, forMs: 1_000 },
    { type: "lose", victim: "leader", link: "store", way: "down", times: 3 },
    { type: "store stops", forMs: 1_000 },
    { type: "silence", victim: "leader", link: "clients", way: "both", forMs: long, afterwards: "lost" },
  ];
  return all.filter((fault) => fault.type === "store stops" || victims.includes(fault.victim));
}

/** Draws a fault of any kind. */
export function randomFault(random: Random, victims: readonly Victim[]): Fault {
  const victim = random.pick(victims);
  const link = victim === "member" ? "store" : random.pick<Link>(["store", "clients"]);
  const forMs = random.below(4_000);
  switch (random.below(8)) {
    case 0:
      return { type: "kill", victim, afterMs: random.below(500) };
    case 1:
      return { type: "stop", victim, forMs, afterwards: random.pick(["continue", "continue", "kill"]) };
    case 2:
      return { type: "delay", victim, link, ms: 5 + random.below(200), forMs };
    case 3:
    case 4: {
      const way = random.pick(["up", "down", "both"] as const);
      return { type: "silence", victim, link, way, forMs, afterwards: random.pick(["arrives", "lost"]) };
    }
    case 5:
      return { type: "cuts", victim, link, times: 1 + random.below(30), everyMs: 10 + random.below(150) };
    case 6:
      return { type: "lose", victim, link, way: random.pick(["up", "down"]), times: 1 + random.below(40) };
    default:
      return { type: "store stops", forMs: random.below(3_000) };
  }
}

/** Causes the fault and repairs what can be repaired. Resolves when the fault is over. */
export async function strike(cluster: ProcessCluster, fault: Fault, random: Random): Promise<void> {
  if (fault.type === "store stops") return cluster.place.stopServer!(fault.forMs);
  const member = random.pick(cluster.members);
  const leader = fault.victim === "leader" ? await cluster.leader() : undefined;
  const { process } = leader ?? member;
  if (fault.type === "kill") {
    await pause(fault.afterMs);
    await process.kill();
    return;
  }
  if (fault.type === "stop") {
    process.signal("SIGSTOP");
    await pause(fault.forMs);
    if (fault.afterwards === "kill") await process.kill();
    process.signal("SIGCONT");
    return;
  }
  await disturb(leader?.[fault.link] ?? member.store, fault);
}

/** Disturbs a connection, and restores it. */
export async function disturb(
  proxy: NetworkProxy,
  fault: Extract<Fault, { readonly type: "delay" | "silence" | "cuts" | "lose" }>,
): Promise<void> {
  switch (fault.type) {
    case "delay":
      proxy.delay(fault.ms);
      await pause(fault.forMs);
      break;
    case "silence":
      proxy.silence(fault.way === "both" ? undefined : fault.way);
      await pause(fault.forMs);
      if (fault.afterwards === "lost") proxy.cut();
      break;
    case "cuts":
      for (let count = 0; count < fault.times; count++) {
        proxy.cut();
        await pause(fault.everyMs);
      }
      break;
    case "lose":
      // Waits at most 300 ms for each call, because perhaps no more calls pass through the
      // connection.
      for (let count = 0; count < fault.times; count++) {
        await Promise.race([proxy.cutAtCall(fault.way), pause(300)]);
      }
  }
  proxy.heal();
}
