import type { CommitHooks, StepInfo, StepName } from "percolatordb/testing";
import type { Random } from "./random.js";

/**
 * Every step at which a process can be killed or stopped, by the commit path that contains the
 * step.
 */
export const failpoints: Readonly<Record<"auto" | "two-phase", readonly StepName[]>> = {
  auto: ["one-phase-commit"],
  "two-phase": [
    "prewrite",
    "commit-timestamp",
    "validate",
    "hints",
    "commit-primary",
    "commit-secondary",
    "rollback-primary",
    "fence-primary",
    "rollback-secondary",
    "roll-forward",
    "push",
    "refresh",
  ],
};

/** The place at which a process kills or stops itself. */
export interface Failpoint {
  readonly step: StepName;
  readonly when: "before" | "after";
  /** The occurrence of the step at which to strike, counted from 1. */
  readonly occurrence: number;
  readonly signal: "SIGKILL" | "SIGSTOP";
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * Hooks that delay steps a little, so that transactions meet each other, and that kill or stop the
 * process at a failpoint.
 */
export class StrikingHooks implements CommitHooks {
  readonly #failpoint: Failpoint | undefined;
  readonly #random: Random;
  readonly #lingers: boolean;
  #seen = 0;

  constructor(failpoint: Failpoint | undefined, random: Random, lingers: boolean) {
    this.#failpoint = failpoint;
    this.#random = random;
    this.#lingers = lingers;
  }

  async step<T>(name: StepName, _info: StepInfo, run: () => Promise<T>): Promise<T> {
    if (this.#lingers && this.#random.chance(0.1)) await pause(this.#random.below(4));
    const strikes = name === this.#failpoint?.step && ++this.#seen === this.#failpoint.occurrence;
    if (strikes && this.#failpoint?.when === "before") process.kill(process.pid, this.#failpoint.signal);
    const answer = await run();
    if (strikes && this.#failpoint?.when === "after") process.kill(process.pid, this.#failpoint.signal);
    return answer;
  }
}

/**
 * What {@link GhostHooks} do to a transaction: stop it at a step, as if its process had died there,
 * or make it `slow`, so that other transactions meet it alive.
 */
export type Fate = "no-primary" | "before-commit" | "after-commit" | "slow";

export const fates: readonly Fate[] = ["no-primary", "before-commit", "after-commit", "slow"];

const never = () => new Promise<never>(() => {});

/**
 * Hooks of a database. Its transactions meet the {@link fates} in turn: they stop for good at a
 * step, or take long. So other transactions meet the same locks as after a crash.
 */
export class GhostHooks implements CommitHooks {
  readonly #inner: CommitHooks;
  readonly #slowMs: number;
  readonly #fates = new Map<number, Fate>();
  readonly #prewritten = new Set<number>();
  #turn: number;

  constructor(inner: CommitHooks, slowMs: number, turn: number) {
    this.#inner = inner;
    this.#slowMs = slowMs;
    this.#turn = turn;
  }

  async step<T>(name: StepName, info: StepInfo, run: () => Promise<T>): Promise<T> {
    const { startTimestamp, label } = info;
    if (label !== "ghost" && !this.#fates.has(startTimestamp)) return this.#inner.step(name, info, run);
    const fate = this.#fateOf(startTimestamp);
    if (name === "prewrite" && !this.#prewritten.has(startTimestamp)) {
      this.#prewritten.add(startTimestamp);
      if (fate === "no-primary") return never();
    }
    if (fate === "slow") {
      if (name === "commit-timestamp") await pause(this.#slowMs);
      return this.#inner.step(name, info, run);
    }
    if (name === "refresh") return never();
    if (name === "commit-primary" && fate !== "after-commit") return never();
    if (name === "commit-secondary") return never();
    return this.#inner.step(name, info, run);
  }

  #fateOf(start: number): Fate {
    let fate = this.#fates.get(start);
    if (fate === undefined) {
      fate = fates[this.#turn++ % fates.length]!;
      this.#fates.set(start, fate);
    }
    return fate;
  }
}
