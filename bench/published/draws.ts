import { randomNumbers } from "../harness/data.js";
import type { Draw } from "./zipfian.js";

const steps = 0x1_0000_0000;

/** Returns a function that draws numbers in [0, 1), the same ones for the same seed. */
export function drawsOf(seed: number): Draw {
  const random = randomNumbers(seed);
  return () => random(steps) / steps;
}
