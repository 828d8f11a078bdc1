import { type Environment, systemEnvironment } from "../../src/environment/index.js";

/** An event loop whose turns always take the same time, and nothing else takes any. */
export interface BusyLoop {
  readonly environment: Environment;
  readonly turns: number;
  /** Lets time pass in the middle of a turn. */
  pass(ms: number): void;
}

export function busyLoop(turnMs: number): BusyLoop {
  let [now, turns] = [0, 0];
  const environment: Environment = {
    ...systemEnvironment,
    monotonic: () => now,
    defer: (callback) => {
      now += turnMs;
      turns++;
      queueMicrotask(callback);
    },
  };
  return {
    environment,
    get turns() {
      return turns;
    },
    pass(ms) {
      now += ms;
    },
  };
}
