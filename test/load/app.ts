import { createHash } from "node:crypto";
import { type Database, family, int, type LoadPart, loadPart, observer, table, text } from "percolatordb";

/**
 * A small program with derived tables: clusters of equal documents, and inverted links. Each derived
 * row depends on several documents, and not on the order in which they arrive.
 */
export const documents = table("documents", {
  contents: text(),
  hash: text(),
  links: family(text()),
});
export const clusters = table("clusters", { members: family(int()) });
export const inlinks = table("inlinks", { sources: family(text()) });

/** What a document says: its text and its links, by target. */
export interface Document {
  readonly contents: string;
  readonly links: Readonly<Record<string, string>>;
}

export type Site = ReadonlyMap<string, Document>;

export function hashOf(contents: string): string {
  return createHash("sha256").update(contents).digest("hex").slice(0, 12);
}

/** Observers that count their runs in `runs`. */
export function observersOf(runs: { count: number }) {
  const cluster = observer("cluster", documents.contents, async (tx, { row, value, previous }) => {
    runs.count++;
    if (previous !== undefined) tx.delete(clusters.members.at(row), hashOf(previous));
    if (value === undefined) return tx.delete(documents.hash, row);
    tx.set(documents.hash, row, hashOf(value));
    tx.set(clusters.members.at(row), hashOf(value), value.length);
  });
  const invert = observer("invert", documents.links, async (tx, { row, value, qualifier }) => {
    runs.count++;
    const cell = inlinks.sources.at(row);
    if (value === undefined) tx.delete(cell, qualifier);
    else tx.set(cell, qualifier, value);
  });
  return [cluster, invert];
}

/** The parts of a load of a site, with all that the observers would have made of it. */
export function partsOf(site: Site): readonly LoadPart[] {
  const byHash = new Map<string, Map<string, number>>();
  const byTarget = new Map<string, Map<string, string>>();
  for (const [url, { contents, links }] of site) {
    addTo(byHash, hashOf(contents), url, contents.length);
    for (const [target, anchor] of Object.entries(links)) addTo(byTarget, target, url, anchor);
  }
  return [
    loadPart(documents, (after) =>
      sortedAfter(site, after).map(([row, { contents, links }]) => ({
        row,
        value: { contents, hash: hashOf(contents), links: new Map(Object.entries(links)) },
      })),
    ),
    loadPart(clusters, (after) =>
      sortedAfter(byHash, after).map(([row, members]) => ({ row, value: { members } })),
    ),
    loadPart(inlinks, (after) =>
      sortedAfter(byTarget, after).map(([row, sources]) => ({ row, value: { sources } })),
    ),
  ];
}

function addTo<V>(groups: Map<string, Map<string, V>>, group: string, key: string, value: V): void {
  const found = groups.get(group) ?? new Map<string, V>();
  groups.set(group, found.set(key, value));
}

export function sortedAfter<V>(rows: ReadonlyMap<string, V>, after: string | undefined): [string, V][] {
  const bytes = Buffer.from(after ?? "");
  return [...rows]
    .filter(([row]) => after === undefined || Buffer.compare(Buffer.from(row), bytes) > 0)
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Stores a version of a site in transactions, as a crawler does. `before` is the version before. */
export async function crawl(db: Database, site: Site, before: Site = new Map()): Promise<void> {
  for (const url of new Set([...before.keys(), ...site.keys()])) {
    await db.transact((tx) => {
      const now = site.get(url);
      const old = before.get(url);
      if (now === undefined) tx.delete(documents.contents, url);
      else if (now.contents !== old?.contents) tx.set(documents.contents, url, now.contents);
      for (const target of new Set([...Object.keys(now?.links ?? {}), ...Object.keys(old?.links ?? {})])) {
        const anchor = now?.links[target];
        if (anchor === undefined) tx.delete(documents.links.at(target), url);
        else if (anchor !== old?.links[target]) tx.set(documents.links.at(target), url, anchor);
      }
    });
  }
}

/** Everything in the three tables that a program can see. */
export async function contentsOf(db: Database): Promise<unknown> {
  await using snapshot = await db.snapshot();
  const found: Record<string, unknown> = {};
  for (const [name, each] of Object.entries({ documents, clusters, inlinks })) {
    const rows: unknown[] = [];
    for await (const { row, value } of snapshot.scan(each)) rows.push([row, value]);
    found[name] = rows;
  }
  return found;
}

export const tables = [documents, clusters, inlinks];

/** A site with long pages, of which a few fill a batch of a load. */
export function longSiteOf(pages: number): Site {
  return new Map(
    Array.from({ length: pages }, (_, index) => [
      `https://site/${index}`,
      {
        contents: `page ${index % 50}`.padEnd(60_000, "."),
        links: { [`https://site/${(index * 7) % pages}`]: `anchor ${index}` },
      },
    ]),
  );
}
