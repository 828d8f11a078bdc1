import { join } from "node:path";
import { RawDatabase, RawGroups, type RawPut } from "../raw.js";
import { clustersOf, joined, type Repository, split } from "./repository.js";

const atOnce = 256;
const putsAtOnce = 50_000;
const crawled = 20_000;

/**
 * What LMDB itself allows: documents that are crawled again, and taken in and out of clusters by gets and puts alone, without transactions,
 * versions or notifications, so many at a time, each answered once it is flushed. Documents a second. In a folder of its own.
 */
export async function measureBare(repository: Repository, folder: string): Promise<number> {
  const raw = new RawDatabase(join(folder, "bare"));
  const documents = raw.table("documents");
  const clusters = raw.table("clusters");
  const all = Array.from({ length: repository.size }, (_, index): readonly [string, string] => [
    repository.url(index),
    joined(repository.keys(index, 0)),
  ]);
  load(raw, documents, all);
  load(
    raw,
    clusters,
    [...clustersOf(all)].map(([key, members]): readonly [string, string] => [key, joined(members)]),
  );
  const groups = new RawGroups(raw, "full");
  const count = Math.min(crawled, repository.size);
  let next = 0;
  const crawl = async () => {
    while (next < count) {
      const index = next++;
      await groups.commit(putsOf(index));
    }
  };
  const putsOf = (index: number): readonly RawPut[] => {
    const url = repository.url(index);
    const value = joined(repository.keys(index, 1));
    const before = new Set(split(documents.strings.get(Buffer.from(url))));
    const now = new Set(split(value));
    const puts: RawPut[] = [{ table: documents, key: Buffer.from(url), value: Buffer.from(value) }];
    for (const key of new Set([...before, ...now])) {
      if (before.has(key) && now.has(key)) continue;
      const members = new Set(split(clusters.strings.get(Buffer.from(key))));
      if (now.has(key)) members.add(url);
      else members.delete(url);
      puts.push({ table: clusters, key: Buffer.from(key), value: Buffer.from(joined([...members].sort())) });
    }
    return puts;
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: atOnce }, crawl));
  const perSecond = (count / (performance.now() - began)) * 1_000;
  await raw.close();
  return perSecond;
}

function load(
  raw: RawDatabase,
  table: ReturnType<RawDatabase["table"]>,
  entries: readonly (readonly [string, string])[],
): void {
  for (let first = 0; first < entries.length; first += putsAtOnce) {
    const some = entries.slice(first, first + putsAtOnce);
    raw.load(some.map(([key, value]) => ({ table, key: Buffer.from(key), value: Buffer.from(value) })));
  }
}
