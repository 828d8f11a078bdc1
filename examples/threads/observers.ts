import { type Observer, type ObserverOptions, observer } from "percolatordb";
import type { Rendering } from "./render.js";
import { documents } from "./tables.js";
import { type ThreadPool, transferable } from "./thread-pool.js";

/** Renders each changed document on a thread of the pool. */
export function rendering(pool: ThreadPool<Rendering, Uint8Array>, options: ObserverOptions = {}): Observer {
  return observer(
    "render",
    documents.markdown,
    async (tx, { row: path, value, signal }) => {
      if (value === undefined) return tx.delete(documents.html, path);
      const markdown = transferable(value);
      const html = await pool.run({ markdown }, { signal, transfer: [markdown.buffer] });
      tx.set(documents.html, path, html);
    },
    // At most this many runs wait for threads. Other documents wait in the database.
    { concurrency: pool.concurrency, ...options },
  );
}
