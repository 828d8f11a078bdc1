import { type Request, SeededRandom } from "../../world/index.js";
import type { Machine } from "../world/machine.js";
import type { SimulationCounts } from "./counts.js";
import { type NetworkFault, networkFaults } from "./fault.js";
import type { Plan } from "./plan.js";
import type { Reduction } from "./reduction.js";

/** What happens to one request. */
export interface Fate {
  readonly fault: NetworkFault | "cut" | undefined;
  /**
   * When the request arrives, in milliseconds after it was sent. Two moments if it is performed
   * twice, none if it is lost.
   */
  readonly arrivals: readonly number[];
  /** Index of the arrival whose answer the sender receives. */
  readonly answered: number;
  /** How long the answer takes, in milliseconds. */
  readonly backMs: number;
  /** When the sender learns that no answer came, or undefined if an answer comes. */
  readonly lostAfterMs: number | undefined;
}

export interface FatesOptions {
  readonly plan: Plan;
  readonly counts: SimulationCounts;
  readonly reduction: Reduction;
  readonly seed: string;
}

/**
 * Decides what happens to requests. Each decision depends only on the sender and the number of the
 * request. Leaving out one request therefore changes the fate of no other request.
 */
export class Fates {
  /** Whether all faults have ended. */
  isHealed = false;
  /** Names of the faults that happened. */
  readonly happened: string[] = [];
  readonly #options: FatesOptions;

  constructor(options: FatesOptions) {
    this.#options = options;
  }

  /**
   * Decides the fate of a request. `now` is the world's time, which matters if a machine is cut
   * off.
   */
  of(machine: Machine, number: number, request: Request, now: number): Fate {
    const { plan, seed } = this.#options;
    const random = new SeededRandom(`${seed}/request/${machine.processName}/${number}`);
    const outMs = plan.latencyMs * (0.5 + random.next());
    const backMs = plan.latencyMs * (0.5 + random.next());
    const drawn = random.next();
    const well: Fate = { fault: undefined, arrivals: [outMs], answered: 0, backMs, lostAfterMs: undefined };
    if (this.isHealed) return well;
    if (machine.cutUntil > now) return { ...well, fault: "cut", arrivals: [], lostAfterMs: plan.timeoutMs };
    const fault = this.#draw(drawn);
    if (fault === undefined || !canHappen(fault, request)) return well;
    const name = `${fault} of ${machine.processName}#${number}`;
    const { allowedFaults } = this.#options.reduction;
    if (allowedFaults !== undefined && !allowedFaults.has(name)) return well;
    this.happened.push(name);
    this.#options.counts.faults[fault]++;
    return this.#withFault(fault, well, random, request);
  }

  #draw(drawn: number): NetworkFault | undefined {
    const { rates } = this.#options.plan;
    let sum = 0;
    for (const fault of networkFaults) {
      sum += rates[fault];
      if (drawn < sum) return fault;
    }
    return undefined;
  }

  #withFault(fault: NetworkFault, well: Fate, random: SeededRandom, { kind }: Request): Fate {
    const { maxDelayMs, timeoutMs } = this.#options.plan;
    const [outMs] = well.arrivals as [number];
    const delay = () => outMs + (maxDelayMs - outMs) * random.next() ** 3;
    switch (fault) {
      case "lostRequest":
        return { ...well, fault, arrivals: [], lostAfterMs: timeoutMs };
      case "lostAnswer":
        return { ...well, fault, lostAfterMs: timeoutMs };
      case "late":
        return {
          ...well,
          fault,
          arrivals: [delay()],
          lostAfterMs: Math.min(timeoutMs, outMs + random.next() * timeoutMs),
        };
      case "slow": {
        const isOutward = random.chance(0.5);
        const slowMs = delay();
        const arrival = isOutward ? slowMs : outMs;
        const back = isOutward ? well.backMs : slowMs;
        // A store within the process always answers, however long it takes.
        const isFar = this.#options.plan.store !== "lmdb";
        const lostAfterMs = isFar && arrival + back > timeoutMs ? timeoutMs : undefined;
        return { ...well, fault, arrivals: [arrival], backMs: back, lostAfterMs };
      }
      case "twice": {
        const second = delay();
        const isSecond = kind === "mutate" && second < timeoutMs && random.chance(0.3);
        const answered = isSecond ? 1 : 0;
        return { ...well, fault, arrivals: [outMs, second], answered };
      }
    }
  }
}

/** Only a request that changes something is performed late or twice. */
function canHappen(fault: NetworkFault, request: Request): boolean {
  if (fault === "late") return request.mayBeLate;
  return fault !== "twice" || request.mayRepeat;
}
