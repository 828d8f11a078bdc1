import { disturb } from "../cluster/faults.js";
import type { Random } from "../crash/random.js";
import { pause } from "../support/waiting.js";
import type { HistoryRun, RunOptions } from "./run.js";

/**
 * The target of a fault: a process of clients by its index, or the coordinator that is the leader.
 */
type Victim = number | "leader";

/** A fault of a process in a run, or of the server. */
export type Fault =
  | { readonly type: "crash"; readonly victim: "server" }
  | { readonly type: "kill"; readonly victim: Victim }
  | {
      readonly type: "stop";
      readonly victim: Victim;
      readonly forMs: number;
      readonly afterwards: "continue" | "kill";
    }
  | { readonly type: "cut"; readonly victim: Victim; readonly how: Disturbance };

type Disturbance = Parameters<typeof disturb>[1];

type Counts = Pick<RunOptions, "kills" | "stops" | "cuts" | "crashes" | "processes">;

/** Draws the faults of a run, in random order. */
export function drawFaults(
  { kills, stops, cuts, crashes, processes }: Counts,
  hasCoordinators: boolean,
  random: Random,
): readonly Fault[] {
  const victim = (): Victim => (hasCoordinators && random.chance(0.25) ? "leader" : random.below(processes));
  const draw = {
    kill: (): Fault => ({ type: "kill", victim: victim() }),
    stop: (): Fault => ({
      type: "stop",
      victim: victim(),
      forMs: 100 + random.below(2_900),
      afterwards: random.pick(["continue", "continue", "kill"]),
    }),
    crash: (): Fault => ({ type: "crash", victim: "server" }),
    cut: (): Fault => ({ type: "cut", victim: victim(), how: drawDisturbance(random) }),
  };
  const kinds: (keyof typeof draw)[] = [
    ...Array.from({ length: kills }, () => "kill" as const),
    ...Array.from({ length: stops }, () => "stop" as const),
    ...Array.from({ length: crashes }, () => "crash" as const),
    ...Array.from({ length: cuts }, () => "cut" as const),
  ];
  const faults: Fault[] = [];
  while (kinds.length > 0) faults.push(draw[kinds.splice(random.below(kinds.length), 1)[0]!]());
  return faults;
}

function drawDisturbance(random: Random): Disturbance {
  const on = { victim: "member", link: "store" } as const;
  const forMs = 200 + random.below(2_500);
  switch (random.below(3)) {
    case 0: {
      const way = random.pick(["up", "down", "both"] as const);
      return { ...on, type: "silence", way, forMs, afterwards: random.pick(["arrives", "lost"]) };
    }
    case 1:
      return { ...on, type: "cuts", times: 1 + random.below(10), everyMs: 10 + random.below(150) };
    default:
      return { ...on, type: "lose", way: random.pick(["up", "down"]), times: 1 + random.below(10) };
  }
}

/** Causes a fault. Resolves when it is over. Killed processes stay dead. */
export async function strike(run: HistoryRun, fault: Fault): Promise<void> {
  if (fault.type === "crash") return await run.place.stopServer!(0);
  const leader = fault.victim === "leader" ? await run.place.leader!() : undefined;
  const { process, network } = leader
    ? { process: leader.process, network: leader.store }
    : run.runners[fault.victim as number]!;
  if (fault.type === "kill") return await process.kill();
  if (fault.type === "cut") {
    if (network === undefined) throw new Error("This store has no network that could be cut.");
    return await disturb(network, fault.how);
  }
  process.signal("SIGSTOP");
  await pause(fault.forMs);
  if (fault.afterwards === "kill") await process.kill();
  else process.signal("SIGCONT");
}
