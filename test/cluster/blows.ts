import type { Random } from "../crash/random.js";
import type { NetworkProxy, Way } from "../support/proxy/index.js";
import { pause } from "../support/waiting.js";
import type { ProcessCluster } from "./cluster.js";
import { times } from "./members.js";

/** Whom a blow meets. */
export type Victim = "member" | "leader";
/** Which of its connections: to the store, or those that clients have to a coordinator. */
export type Link = "store" | "clients";

/** What befalls a cluster. */
export type Blow =
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
      /** Whether what was held arrives late, or is lost. */
      readonly afterwards: "arrives" | "lost";
    }
  | {
      readonly type: "cuts";
      readonly victim: Victim;
      readonly link: Link;
      readonly times: number;
      readonly everyMs: number;
    }
  /** Loses requests, or answers whose requests were delivered, one by one. */
  | {
      readonly type: "lose";
      readonly victim: Victim;
      readonly link: Link;
      readonly way: Way;
      readonly times: number;
    }
  | { readonly type: "store stops"; readonly forMs: number };

/** One of each kind, so that a few rounds meet all. */
export function everyBlow(random: Random): readonly Blow[] {
  const long = times.leaseMs + 1_000;
  return [
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
}

/** Any blow. */
export function randomBlow(random: Random): Blow {
  const victim = random.pick<Victim>(["member", "member", "leader"]);
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

/** Strikes, and makes good what can be; resolves when it is over. Answers whether the others could go on meanwhile. */
export async function strike(cluster: ProcessCluster, blow: Blow, random: Random): Promise<void> {
  if (blow.type === "store stops") return stopStore(cluster, blow.forMs);
  const member = random.pick(cluster.members);
  const leader = await cluster.leader();
  const { process } = blow.victim === "member" ? member : leader;
  if (blow.type === "kill") {
    await pause(blow.afterMs);
    await process.kill();
    return;
  }
  if (blow.type === "stop") {
    process.signal("SIGSTOP");
    await pause(blow.forMs);
    if (blow.afterwards === "kill") await process.kill();
    process.signal("SIGCONT");
    return;
  }
  const proxy =
    blow.victim === "member" ? member.store : blow.link === "store" ? leader.store : leader.clients;
  await disturb(proxy, blow);
}

/** Disturbs a connection, and makes it good again. */
export async function disturb(
  proxy: NetworkProxy,
  blow: Extract<Blow, { readonly type: "delay" | "silence" | "cuts" | "lose" }>,
): Promise<void> {
  switch (blow.type) {
    case "delay":
      proxy.delay(blow.ms);
      await pause(blow.forMs);
      break;
    case "silence":
      proxy.silence(blow.way === "both" ? undefined : blow.way);
      await pause(blow.forMs);
      if (blow.afterwards === "lost") proxy.cut();
      break;
    case "cuts":
      for (let count = 0; count < blow.times; count++) {
        proxy.cut();
        await pause(blow.everyMs);
      }
      break;
    case "lose":
      // Where nothing passes any more, there is nothing to lose either.
      for (let count = 0; count < blow.times; count++) {
        await Promise.race([proxy.cutAtCall(blow.way), pause(300)]);
      }
  }
  proxy.heal();
}

async function stopStore({ emulator }: ProcessCluster, forMs: number): Promise<void> {
  emulator.signal("SIGSTOP");
  await pause(forMs);
  emulator.signal("SIGCONT");
}
