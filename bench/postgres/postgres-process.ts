/** The process that loads pages into PostgreSQL. */
import { Pool } from "pg";
import { packContents } from "../../examples/webindex/contents.js";
import { serve } from "../harness/child.js";
import { openSources, readPages } from "../webindex/sources.js";
import { verdictOf } from "../webindex/verdict.js";
import { loadPages } from "./load.js";
import { type PacedLoad, putAtPace } from "./pace.js";
import { transact } from "./session.js";
import { asSnapshot } from "./tables.js";

let pool: Pool | undefined;

serve({
  open({ host }: { readonly host: string }) {
    pool = new Pool({ host, user: "postgres", database: "postgres", max: 8 });
    pool.on("error", () => undefined);
    // Ignores the error that a closing connection emits when its server ends. Failed queries
    // reject anyway.
    pool.on("connect", (client) => client.on("error", () => undefined));
  },
  async load(paths: readonly string[]) {
    let pages = 0;
    for (const source of await openSources(paths)) pages += (await loadPages(pool!, source)).pages;
    return pages;
  },
  async paced({ paths, perSecond, pages }: PacedLoad) {
    const all = await readPages(paths, pages);
    return putAtPace(all, perSecond, async ({ url, ...page }) => {
      const client = await pool!.connect();
      try {
        await transact(client, async (session) => {
          const contents = Buffer.from(packContents(page));
          await session.all("add one", "insert into documents (url, contents) values ($1, $2)", [
            url,
            contents,
          ]);
          session.notify("extract", url);
        });
      } finally {
        client.release();
      }
    });
  },
  verify: () => verdictOf(asSnapshot(pool!)),
  close: () => pool?.end(),
});
