import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { machineSchema } from "./machine.js";

const measuredSchema = z.object({
  /** The command line that measures it again. */
  command: z.string(),
  size: z.enum(["small", "full"]),
  date: z.string(),
  seconds: z.number(),
  /** What others took of the processors just before; undefined where the system does not tell. */
  busyBefore: z.number().optional(),
  /** The commit that was measured, with "-dirty" where files had changed since; undefined outside of a clone. */
  revision: z.string().optional(),
  machine: machineSchema,
  /** What the command wrote, as it wrote it. */
  result: z.unknown(),
});

/** By figure and measurement. */
const resultsSchema = z.object({ figures: z.record(z.string(), z.record(z.string(), measuredSchema)) });

export type Measured = z.output<typeof measuredSchema>;
export type Results = z.output<typeof resultsSchema>;

export const noResults: Results = { figures: {} };

/** Reads results, none where there is no such file. */
export function readResults(path: string): Results {
  return existsSync(path) ? parseResults(path) : noResults;
}

/** Reads results; throws where the file is not there or is not one of results. */
export function parseResults(path: string): Results {
  const parsed = resultsSchema.safeParse(JSON.parse(readFileSync(path, "utf8")));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${path} has no results that can be read: ${issue?.path.join(".")}: ${issue?.message}`);
}

export function writeResults(path: string, results: Results): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(results, undefined, 1)}\n`);
}

/** All of both; the second one's where both have a measurement. */
export function merged(first: Results, second: Results): Results {
  const figures = { ...first.figures };
  for (const [name, measurements] of Object.entries(second.figures))
    figures[name] = { ...figures[name], ...measurements };
  return { figures };
}
