/** The SQL writers, in a process of their own: their delays are then those of the server. */
import { Pool } from "pg";
import { serve } from "../harness/child.js";
import { type WriterOptions, Writers } from "./writers.js";

export interface WritersStart extends WriterOptions {
  readonly host: string;
  readonly user: string;
}

let pool: Pool | undefined;
let writers: Writers | undefined;

serve({
  open({ host, user, ...options }: WritersStart): void {
    pool = new Pool({ host, user, database: "postgres", max: 20 });
    pool.on("error", () => undefined);
    writers = new Writers(pool, options);
  },
  /** Writes until `end`, and at least this many milliseconds. */
  during: (ms: number): Promise<readonly number[]> => writers!.during(ms),
  /** The work that the writes accompany is done. */
  end: (): void => writers!.end(),
  close: () => pool?.end(),
});
