import { join } from "node:path";
import { inFlight, nextTurn, WrongResultError } from "../harness/compare.js";
import { loadRaw, RawDatabase, RawGroups, type RawPut } from "../harness/raw.js";
import { clustersOf, joined, type Repository, split } from "./repository.js";
import { countDifferent, expectedClusters, pairsOf } from "./verify.js";

const atOnce = 256;
const maxCrawled = 20_000;

const isMember = Buffer.from([1]);
const wasMember = Buffer.from([0]);
const memberKey = (cluster: string, url: string) => Buffer.from(`${cluster}\0${url}`);

/**
 * Measures the limit that LMDB itself sets, in documents a second. Each document is crawled again,
 * and one get and some puts move it between clusters. A cluster has an entry for each member. There
 * are no transactions of Percolator, no versions and no notifications. A document counts as done
 * after its flush.
 */
export async function measureBare(repository: Repository, folder: string): Promise<number> {
  const raw = new RawDatabase(join(folder, "bare"));
  const documents = raw.table("documents");
  const clusters = raw.table("clusters");
  const all = repository.documents();
  loadRaw(raw, "documents", all);
  const members = [...clustersOf(all)].flatMap(([cluster, urls]) =>
    urls.map((url) => [memberKey(cluster, url), isMember] as const),
  );
  loadRaw(raw, "clusters", members);
  const putsOf = (index: number): readonly RawPut[] => {
    const url = repository.url(index);
    const value = joined(repository.keys(index, 1));
    const [before, now] = [split(documents.strings.get(Buffer.from(url))), split(value)];
    const put = (cluster: string, member: Buffer) => ({
      table: clusters,
      key: memberKey(cluster, url),
      value: member,
    });
    return [
      { table: documents, key: Buffer.from(url), value: Buffer.from(value) },
      ...before.filter((cluster) => !now.includes(cluster)).map((cluster) => put(cluster, wasMember)),
      ...now.filter((cluster) => !before.includes(cluster)).map((cluster) => put(cluster, isMember)),
    ];
  };
  const groups = new RawGroups(raw, "full");
  const count = Math.min(maxCrawled, repository.size);
  const began = performance.now();
  await inFlight(count, atOnce, (index) => groups.commit(putsOf(index)));
  const perSecond = (count / (performance.now() - began)) * 1_000;
  // LMDB shows a new commit to reads of the next turn of the event loop.
  await nextTurn();
  const crawled = all.map(
    ([url, keys], index) => [url, index < count ? joined(repository.keys(index, 1)) : keys] as const,
  );
  const wrong = countWrongMembers(raw, crawled);
  await raw.close();
  if (wrong > 0) throw new WrongResultError(`${wrong} documents and clusters of LMDB alone are wrong.`);
  return perSecond;
}

/**
 * Returns the number of wrong documents and clusters. A cluster should have all members that were
 * not removed from it.
 */
export function countWrongMembers(
  raw: RawDatabase,
  documents: readonly (readonly [url: string, keys: string])[],
): number {
  const found = new Map<string, string[]>();
  for (const { key, value } of raw.table("clusters").bytes.getRange()) {
    if (!value.equals(isMember)) continue;
    const [cluster, url] = key.toString().split("\0") as [string, string];
    found.set(cluster, [...(found.get(cluster) ?? []), url]);
  }
  const clusters = [...found].map(([cluster, members]) => [cluster, joined(members)] as const);
  return (
    countDifferent(pairsOf(raw, "documents"), new Map(documents)) +
    countDifferent(clusters, expectedClusters(documents))
  );
}
