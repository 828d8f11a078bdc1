import { inspect } from "node:util";

/** Shows all of a value. Equal data are shown equally: entries are sorted, and nothing is left out. */
export function showData(value: unknown): string {
  return inspect(value, {
    breakLength: Number.POSITIVE_INFINITY,
    depth: null,
    maxArrayLength: null,
    maxStringLength: null,
    sorted: true,
  });
}
