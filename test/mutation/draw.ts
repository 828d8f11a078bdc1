import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { type Candidate, candidatesOf, kinds, mutated } from "./candidates.js";
import { folderOf, folders } from "./rooms.js";

/** Left out: tests and their helpers, generated codecs, public names, counters and traces. */
const leftOut = /\.test\.ts$|(^|\/)(test-[^/]*|index|statistics|trace|count-requests)\.ts$|(^|\/)protos\//;

/** Returns every candidate of the folders below a root. */
export async function allCandidates(root: string): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  for (const folder of folders) {
    const paths = await readdir(join(root, folder), { recursive: true });
    for (const name of paths.map((each) => each.replaceAll("\\", "/")).sort()) {
      if (!name.endsWith(".ts") || leftOut.test(name)) continue;
      const path = `${folder}/${name}`;
      found.push(...candidatesOf(path, await readFile(join(root, path), "utf8")));
    }
  }
  return found;
}

/**
 * Returns candidates in an order that a seed determines: each folder in turn, and in each folder
 * each kind in turn. A candidate's place depends on its path and its change, so that changes
 * elsewhere in the source affect it as little as possible.
 */
export function drawn(candidates: readonly Candidate[], seed: string): readonly Candidate[] {
  const rank = (...parts: readonly string[]) =>
    createHash("sha256")
      .update([seed, ...parts].join("\0"))
      .digest("hex");
  const byRank = <T>(items: readonly T[], key: (item: T) => string): readonly T[] =>
    items
      .map((item) => ({ item, rank: rank(key(item)) }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1))
      .map(({ item }) => item);
  const lines = byRank(folders, (folder) => folder).map((folder) => {
    const own = candidates.filter(({ path }) => folderOf(path) === folder);
    const ranked = byRank(kinds, (kind) => `${folder} ${kind}`).map((kind) =>
      byRank(
        own.filter((each) => each.kind === kind),
        ({ path, change, line }) => `${path} ${kind} ${change} ${line}`,
      ),
    );
    return inTurn(ranked);
  });
  return inTurn(lines);
}

/** Returns the first of each list, then the second of each, and so on. */
export function inTurn<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const most = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: most }, (_, i) => lists.flatMap((list) => list.slice(i, i + 1))).flat();
}

/**
 * Whether the file can be parsed after the candidate's change. If not, the candidate is not a
 * mutant.
 */
export async function isParsed(root: string, candidate: Candidate): Promise<boolean> {
  const text = mutated(await readFile(join(root, candidate.path), "utf8"), candidate);
  const { diagnostics } = ts.transpileModule(text, { fileName: candidate.path, reportDiagnostics: true });
  return diagnostics?.length === 0;
}
