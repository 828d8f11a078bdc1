import { join } from "node:path";
import { nextTurn, WrongResultError } from "../harness.js";
import { RawDatabase, RawGroups, type RawPut } from "../raw.js";
import { clustersOf, joined, type Repository, split } from "./repository.js";
import { countDifferent, expectedClusters, pairsOf } from "./verify.js";

const atOnce = 256;
const putsAtOnce = 50_000;
const crawled = 20_000;

const isMember = Buffer.from([1]);
const wasMember = Buffer.from([0]);

/**
 * What LMDB itself allows: documents that are crawled again, and taken in and out of clusters by a get and puts alone, an entry for each
 * member, without transactions, versions or notifications, so many at a time, each answered once it is flushed. Documents a second. In a
 * folder of its own.
 */
export async function measureBare(repository: Repository, folder: string): Promise<number> {
  const raw = new RawDatabase(join(folder, "bare"));
  const documents = raw.table("documents");
  const clusters = raw.table("clusters");
  const all = Array.from({ length: repository.size }, (_, index): readonly [string, string] => [
    repository.url(index),
    joined(repository.keys(index, 0)),
  ]);
  load(
    raw,
    all.map(([url, keys]) => ({ table: documents, key: Buffer.from(url), value: Buffer.from(keys) })),
  );
  load(
    raw,
    [...clustersOf(all)].flatMap(([cluster, members]) =>
      members.map((url) => ({ table: clusters, key: memberKey(cluster, url), value: isMember })),
    ),
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
    const before = split(documents.strings.get(Buffer.from(url)));
    const now = split(value);
    const puts: RawPut[] = [{ table: documents, key: Buffer.from(url), value: Buffer.from(value) }];
    const put = (cluster: string, member: Buffer) =>
      puts.push({ table: clusters, key: memberKey(cluster, url), value: member });
    for (const cluster of before) if (!now.includes(cluster)) put(cluster, wasMember);
    for (const cluster of now) if (!before.includes(cluster)) put(cluster, isMember);
    return puts;
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: atOnce }, crawl));
  const perSecond = (count / (performance.now() - began)) * 1_000;
  // LMDB shows a new commit to reads of the next turn.
  await nextTurn();
  const wrong = countWrongMembers(
    raw,
    all.map(([url, keys], index) => [url, index < count ? joined(repository.keys(index, 1)) : keys]),
  );
  await raw.close();
  if (wrong > 0) throw new WrongResultError(`${wrong} documents and clusters of LMDB alone are wrong.`);
  return perSecond;
}

/** Documents and clusters that are not as they must be. A cluster has the members that were not taken out of it. */
export function countWrongMembers(
  raw: RawDatabase,
  documents: readonly (readonly [url: string, keys: string])[],
): number {
  const found = new Map<string, string[]>();
  for (const { key, value } of raw.table("clusters").bytes.getRange()) {
    if (!value.equals(isMember)) continue;
    const [cluster, url] = key.toString().split("\0") as [string, string];
    const members = found.get(cluster);
    if (members === undefined) found.set(cluster, [url]);
    else members.push(url);
  }
  const clusters = [...found].map(([cluster, members]) => [cluster, joined(members)] as const);
  return (
    countDifferent(pairsOf(raw, "documents"), new Map(documents)) +
    countDifferent(clusters, expectedClusters(documents))
  );
}

function memberKey(cluster: string, url: string): Buffer {
  return Buffer.from(`${cluster}\0${url}`);
}

function load(raw: RawDatabase, puts: readonly RawPut[]): void {
  for (let first = 0; first < puts.length; first += putsAtOnce)
    raw.load(puts.slice(first, first + putsAtOnce));
}
