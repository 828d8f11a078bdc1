import type { Pool } from "pg";
import { packContents, sameContents } from "../../examples/webindex/contents.js";
import type { Source, SourceItem } from "../../examples/webindex/sources/index.js";
import { urlFitsKey } from "../../examples/webindex/text/index.js";
import { type Session, transact } from "./session.js";

/** As the web index loads: so many pages, or so many bytes, a transaction, and so many transactions at a time. */
const batchPages = 32;
const batchBytes = 512 * 1024;
const batchesInFlight = 4;

export interface Loaded {
  pages: number;
  added: number;
  changed: number;
  deleted: number;
}

type Loadable = Extract<SourceItem, { kind: "page" | "gone" | "unchanged" }>;

/** Brings the pages of a source in; writes only what is new, different or gone. */
export async function loadPages(pool: Pool, source: Source): Promise<Loaded> {
  const loaded: Loaded = { pages: 0, added: 0, changed: 0, deleted: 0 };
  const inFlight = new Set<Promise<void>>();
  let batch = new Map<string, Loadable>();
  let bytes = 0;
  const send = async () => {
    if (batch.size === 0) return;
    const items = [...batch.values()];
    [batch, bytes] = [new Map(), 0];
    const writing = write(pool, items, loaded).finally(() => inFlight.delete(writing));
    inFlight.add(writing);
    if (inFlight.size >= batchesInFlight) await Promise.race(inFlight);
  };
  for await (const item of source.items()) {
    if (item.kind === "page" || item.kind === "unchanged") loaded.pages++;
    if (item.kind === "problem" || item.kind === "skipped" || !urlFitsKey(item.url)) continue;
    if (item.kind === "unchanged") {
      if (item.refersTo === item.url) continue;
      // The page that it refers to may be on its way.
      await send();
      await Promise.all(inFlight);
    }
    if (batch.has(item.url)) await send();
    batch.set(item.url, item);
    bytes += item.kind === "page" ? item.body.length : 0;
    if (batch.size >= batchPages || bytes >= batchBytes) await send();
  }
  await send();
  await Promise.all(inFlight);
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
      const put: Stored[] = [];
      const update: Stored[] = [];
      for (const item of items) {
        const before = stored.get(item.url);
        const contents = contentsOf(item, stored);
        if (contents === null ? before == null : before != null && sameContents(before, contents)) continue;
        counts[contents === null ? "deleted" : before == null ? "added" : "changed"]++;
        (before === undefined ? put : update).push({ url: item.url, contents });
        session.notify("extract", item.url);
      }
      await writeStored(session, put, update);
    });
    loaded.added += counts.added;
    loaded.changed += counts.changed;
    loaded.deleted += counts.deleted;
  } finally {
    client.release();
  }
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

function contentsOf(item: Loadable, stored: ReadonlyMap<string, Buffer | null>): Buffer | null {
  if (item.kind === "gone") return null;
  return item.kind === "page" ? Buffer.from(packContents(item)) : (stored.get(item.refersTo) ?? null);
}

async function writeStored(
  session: Session,
  put: readonly Stored[],
  update: readonly Stored[],
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
