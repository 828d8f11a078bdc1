import type { Snapshot } from "percolatordb";
import type { Pool } from "pg";
import { linkPlace } from "../../examples/webindex/identity.js";
import { clusters, documents, links, postings, shards } from "../../examples/webindex/tables.js";
import { inKeyOrder, rowText } from "../../examples/webindex/twin/order.js";

type Row = { readonly row: string; readonly value: Readonly<Record<string, unknown>> };

const left = (value: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null && each !== undefined));

/**
 * Presents the contents of PostgreSQL as a snapshot, for the comparison with the batch twin: every
 * table, in key order.
 */
export function asSnapshot(pool: Pool): Snapshot {
  const scan = (target: unknown): AsyncIterable<unknown> => {
    switch (target) {
      case documents.contents:
        return pages(pool);
      case documents:
        return rows(pool);
      case clusters:
        return grouped(
          pool,
          "select c.hash as row, m.key as qualifier, m.rank as value, c.canonical as extra from members m join clusters c using (hash) order by 1, 2",
          (members, canonical) => left({ members, canonical }),
        );
      case links:
        return linkRows(pool);
      case postings:
        return grouped(
          pool,
          "select shard as row, bucket as qualifier, documents as value, null as extra from postings order by 1, 2",
          (found) => ({ documents: found }),
        );
      case shards:
        return shardRows(pool);
      default:
        throw new Error("The comparison asked for a table that PostgreSQL does not have.");
    }
  };
  return { scan } as unknown as Snapshot;
}

const page = 1_000;

async function* pages(pool: Pool): AsyncGenerator<{ row: string; value: Buffer }> {
  for (let after = ""; ; ) {
    const { rows: found } = await pool.query<{ url: string; contents: Buffer }>(
      "select url, contents from documents where url > $1 and contents is not null order by url limit $2",
      [after, page],
    );
    for (const { url, contents } of found) yield { row: url, value: contents };
    if (found.length < page) return;
    after = found.at(-1)!.url;
  }
}

async function* rows(pool: Pool): AsyncGenerator<Row> {
  for (let after = ""; ; ) {
    const { rows: found } = await pool.query<{ url: string }>(
      "select url, hash, title, words, links, truncated, rank, cluster, anchors, terms from documents where url > $1 order by url limit $2",
      [after, page],
    );
    for (const { url, ...columns } of found) {
      const value = left(columns);
      if (Object.keys(value).length > 0) yield { row: url, value };
    }
    if (found.length < page) return;
    after = found.at(-1)!.url;
  }
}

/** Groups the rows of a family by their key. */
async function* grouped(
  pool: Pool,
  query: string,
  shape: (family: Map<string, unknown>, extra: string | null) => Readonly<Record<string, unknown>>,
): AsyncGenerator<Row> {
  const { rows: found } = await pool.query<{
    row: string;
    qualifier: string;
    value: unknown;
    extra: string | null;
  }>(query);
  let family = new Map<string, unknown>();
  for (const [index, { row, qualifier, value, extra }] of found.entries()) {
    family.set(qualifier, value);
    if (found[index + 1]?.row === row) continue;
    yield { row, value: shape(family, extra) };
    family = new Map();
  }
}

/** PostgreSQL has a row for each link, and no site is a row there. */
async function* linkRows(pool: Pool): AsyncGenerator<Row> {
  const { rows: found } = await pool.query<{ target: string; source: string; anchor: string }>(
    "select target, source, anchor from links",
  );
  const rows = new Map<string, Map<string, string>>();
  for (const { target, source, anchor } of found) {
    const { row, prefix } = linkPlace(target);
    const key = rowText(row);
    const sources = rows.get(key) ?? new Map<string, string>();
    rows.set(key, sources);
    sources.set(prefix + source, anchor);
  }
  for (const row of inKeyOrder(rows.keys())) yield { row, value: { sources: rows.get(row) } };
}

async function* shardRows(pool: Pool): AsyncGenerator<Row> {
  const { rows: all } = await pool.query<{ shard: string; lengths: Buffer | null; statistics: unknown }>(
    "select shard, lengths, statistics from shards order by 1",
  );
  const { rows: named } = await pool.query<{ shard: string; id: string; url: string }>("select * from urls");
  const { rows: waiting } = await pool.query<{ shard: string; id: string } & Record<string, unknown>>(
    "select * from pending",
  );
  for (const { shard, lengths, statistics } of all) {
    const urls = new Map(named.filter((each) => each.shard === shard).map(({ id, url }) => [id, url]));
    const pending = new Map(
      waiting
        .filter((each) => each.shard === shard)
        .map(({ id, url, terms, now, merged }) => [id, [url, terms, now, merged]]),
    );
    if (lengths === null && urls.size === 0 && pending.size === 0) continue;
    yield {
      row: shard,
      value: left({ urls, lengths, statistics, ...(pending.size === 0 ? {} : { pending }) }),
    };
  }
}
