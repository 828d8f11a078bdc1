import { readFileSync } from "node:fs";

/** Seconds of CPU that the machine has spent, and had; undefined where the system does not tell. */
interface MachineTime {
  readonly busy: number;
  readonly all: number;
}

const quiet = 0.1;
const lookMs = 1_000;

/** Watches, beside a measurement, how much of the machine others take: a figure measured under load proves nothing. */
export class Others {
  readonly #start = machineTime();

  /** The part of all CPUs that others took, where the measurement itself took `ownSeconds`; undefined where the system does not tell. */
  share(ownSeconds: number): number | undefined {
    const end = machineTime();
    if (this.#start === undefined || end === undefined) return undefined;
    const all = end.all - this.#start.all;
    return all === 0 ? undefined : Math.max(0, end.busy - this.#start.busy - ownSeconds) / all;
  }
}

/** Waits until the machine has been nearly idle for a second, but not longer than `seconds`. */
export async function untilQuiet(seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  while (performance.now() < until) {
    const others = new Others();
    await new Promise<void>((resolve) => setTimeout(resolve, lookMs));
    if ((others.share(0) ?? 0) < quiet) return;
  }
}

function machineTime(): MachineTime | undefined {
  try {
    return parseMachineTime(readFileSync("/proc/stat", "latin1"));
  } catch {
    return undefined;
  }
}

/** From Linux's `/proc/stat`, in which everything is counted in hundredths of a second. */
export function parseMachineTime(stat: string): MachineTime {
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, irq = 0, softIrq = 0, steal = 0] = stat
    .split("\n", 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map((count) => Number(count) / 100);
  const busy = user + nice + system + irq + softIrq + steal;
  return { busy, all: busy + idle + ioWait };
}
