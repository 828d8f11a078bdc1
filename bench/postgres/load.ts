import type { Pool } from "pg";
import { packContents, sameContents } from "../../examples/webindex/contents.js";
import { Batches, type Loadable } from "../../examples/webindex/load/batches.js";
import type { Source } from "../../examples/webindex/sources/index.js";
import { urlFitsKey } from "../../examples/webindex/text/index.js";
import { type Session, transact } from "./session.js";

export interface Loaded {
  pages: number;
  added: number;
  changed: number;
  deleted: number;
}

/**
 * Loads the pages of a source in the same batches as the web index. Writes only pages that are new,
 * changed or gone.
 */
export async function loadPages(pool: Pool, source: Source): Promise<Loaded> {
  const loaded: Loaded = { pages: 0, added: 0, changed: 0, deleted: 0 };
  const batches = new Batches((items) => write(pool, items, loaded));
  try {
    for await (const item of source.items()) {
      if (item.kind === "problem" || item.kind === "skipped") continue;
      if (item.kind !== "gone") loaded.pages++;
      // A revisit that refers to its own page changes nothing.
      const isStored = item.kind === "unchanged" && item.refersTo === item.url;
      if (!isStored && urlFitsKey(item.url)) await batches.add(item);
    }
    await batches.send();
  } finally {
    await batches.settle();
  }
  batches.throwFailure();
  return loaded;
}

interface Stored {
  readonly url: string;
  /** Null for a page that is gone. */
  readonly contents: Buffer | null;
}

async function write(pool: Pool, items: readonly Loadable[], loaded: Loaded): Promise<void> {
  const client = await pool.connect();
  try {
    let counts = { added: 0, changed: 0, deleted: 0 };
    await transact(client, async (session) => {
      counts = { added: 0, changed: 0, deleted: 0 };
      const stored = await readStored(session, items);
      // The contents after the previous items. A page may come twice, or a later item may refer to
      // it.
      const now = new Map(stored);
      const written = new Set<string>();
      for (const item of items) {
        const before = now.get(item.url) ?? null;
        const contents = contentsOf(item, now);
        if (contents === undefined || isSame(before, contents)) continue;
        counts[contents === null ? "deleted" : before === null ? "added" : "changed"]++;
        now.set(item.url, contents);
        written.add(item.url);
      }
      const rows = [...written].map((url) => ({ url, contents: now.get(url) ?? null }));
      for (const url of written) session.notify("extract", url);
      await writeStored(session, {
        put: rows.filter(({ url }) => !stored.has(url)),
        update: rows.filter(({ url }) => stored.has(url)),
      });
    });
    loaded.added += counts.added;
    loaded.changed += counts.changed;
    loaded.deleted += counts.deleted;
  } finally {
    client.release();
  }
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : sameContents(one, other);
}

async function readStored(
  session: Session,
  items: readonly Loadable[],
): Promise<ReadonlyMap<string, Buffer | null>> {
  const urls = items.flatMap((item) => (item.kind === "unchanged" ? [item.url, item.refersTo] : [item.url]));
  const rows = await session.all<Stored>(
    "stored",
    "select url, contents from documents where url = any($1::text[]) order by url for update",
    [urls],
  );
  return new Map(rows.map(({ url, contents }) => [url, contents]));
}

/** Null for a page that is gone. `undefined` if it equals another page that was never loaded. */
function contentsOf(item: Loadable, stored: ReadonlyMap<string, Buffer | null>): Buffer | null | undefined {
  if (item.kind === "gone") return null;
  return item.kind === "page" ? Buffer.from(packContents(item)) : (stored.get(item.refersTo) ?? undefined);
}

async function writeStored(
  session: Session,
  { put, update }: { readonly put: readonly Stored[]; readonly update: readonly Stored[] },
): Promise<void> {
  const columns = (list: readonly Stored[]) => [
    list.map(({ url }) => url),
    list.map(({ contents }) => contents),
  ];
  if (put.length > 0) {
    await session.all(
      "add",
      "insert into documents (url, contents) select * from unnest($1::text[], $2::bytea[])",
      columns(put),
    );
  }
  if (update.length === 0) return;
  await session.all(
    "change",
    "update documents d set contents = new.contents from unnest($1::text[], $2::bytea[]) as new(url, contents) where d.url = new.url",
    columns(update),
  );
}
