/**
 * The application module for `percolator worker LOCATION examples/threads/app.ts`. The threads do
 * not keep the process from ending.
 */
import { availableParallelism } from "node:os";
import { rendering } from "./observers.js";
import type { Rendering } from "./render.js";
import { tables } from "./tables.js";
import { ThreadPool } from "./thread-pool.js";

const pool = new ThreadPool<Rendering, Uint8Array>(new URL("./render.ts", import.meta.url), {
  threads: availableParallelism(),
  onError: (error) => console.error(error),
});

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables, observers: [rendering(pool)] };
