import type { Pool } from "pg";
import { packContents, sameContents } from "../../examples/webindex/contents.js";
import type { Source, SourceItem } from "../../examples/webindex/sources/index.js";
import { urlFitsKey } from "../../examples/webindex/text/index.js";
import { extractAgain } from "./schema.js";
import { transact } from "./session.js";

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

export interface LoadOptions {
  /** Told of the URLs that a transaction changed, when it has committed. */
  readonly onChanged?: ((urls: readonly string[]) => void) | undefined;
  /** Waited for before each transaction. */
  readonly pace?: ((pages: number) => Promise<void>) | undefined;
}

type Loadable = Extract<SourceItem, { kind: "page" | "gone" }>;

/** Brings the pages of a source in; writes only what is new, different or gone. */
export async function loadPages(pool: Pool, source: Source, options: LoadOptions = {}): Promise<Loaded> {
  const loaded: Loaded = { pages: 0, added: 0, changed: 0, deleted: 0 };
  const inFlight = new Set<Promise<void>>();
  let batch = new Map<string, Loadable>();
  let bytes = 0;
  const send = async () => {
    if (batch.size === 0) return;
    const items = [...batch.values()];
    [batch, bytes] = [new Map(), 0];
    await options.pace?.(loaded.pages);
    const writing = write(pool, items, loaded, options).finally(() => inFlight.delete(writing));
    inFlight.add(writing);
    if (inFlight.size >= batchesInFlight) await Promise.race(inFlight);
  };
  for await (const item of source.items()) {
    if (item.kind === "page" || item.kind === "unchanged") loaded.pages++;
    if ((item.kind !== "page" && item.kind !== "gone") || !urlFitsKey(item.url)) continue;
    if (batch.has(item.url)) await send();
    batch.set(item.url, item);
    bytes += item.kind === "page" ? item.body.length : 0;
    if (batch.size >= batchPages || bytes >= batchBytes) await send();
  }
  await send();
  await Promise.all(inFlight);
  return loaded;
}

async function write(
  pool: Pool,
  items: readonly Loadable[],
  loaded: Loaded,
  { onChanged }: LoadOptions,
): Promise<void> {
  const client = await pool.connect();
  try {
    let counts = { added: 0, changed: 0, deleted: 0 };
    let changed: string[] = [];
    await transact(client, async (session) => {
      counts = { added: 0, changed: 0, deleted: 0 };
      const rows = await session.all<{ url: string; contents: Buffer | null }>(
        "stored",
        "select url, contents from documents where url = any($1::text[])",
        [items.map(({ url }) => url)],
      );
      const stored = new Map(rows.map(({ url, contents }) => [url, contents]));
      const put: { url: string; contents: Buffer | null }[] = [];
      const update: { url: string; contents: Buffer | null }[] = [];
      for (const item of items) {
        const before = stored.get(item.url);
        const contents = item.kind === "gone" ? null : Buffer.from(packContents(item));
        if (contents === null ? before == null : before != null && sameContents(before, contents)) continue;
        counts[contents === null ? "deleted" : before == null ? "added" : "changed"]++;
        (before === undefined ? put : update).push({ url: item.url, contents });
      }
      const columns = (list: typeof put) => [
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
      if (update.length > 0) {
        await session.all(
          "change",
          "update documents d set contents = new.contents from unnest($1::text[], $2::bytea[]) as new(url, contents) where d.url = new.url",
          columns(update),
        );
        await session.all("extract again", extractAgain, [update.map(({ url }) => url)]);
      }
      changed = [...put, ...update].map(({ url }) => url);
    });
    loaded.added += counts.added;
    loaded.changed += counts.changed;
    loaded.deleted += counts.deleted;
    onChanged?.(changed);
  } finally {
    client.release();
  }
}
