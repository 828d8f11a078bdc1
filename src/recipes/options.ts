import { InvalidArgumentError } from "../index.js";

/** Throws unless an option is a whole number within its bounds. */
export function wholeOption(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(
    `\`${name}\` must be a whole number from ${least} to ${most}, not ${String(value)}.`,
  );
}

/** Throws unless an option is a number within its bounds. */
export function numberOption(name: string, value: number, least: number, most: number): number {
  if (typeof value === "number" && value >= least && value <= most) return value;
  throw new InvalidArgumentError(
    `\`${name}\` must be a number from ${least} to ${most}, not ${String(value)}.`,
  );
}
