import { commitTimestamp, type DeleteMutation, type Mutation, type PutMutation } from "../../mutation.js";

/**
 * A commit timestamp is the server's clock in microseconds or larger, and less than this until the
 * year 2112. Deletes up to here contain every commit timestamp.
 */
const afterCommits = 2 ** 52;

/** A mutation, its row, and the name of its cell. */
export interface CellChange<M extends Mutation = Mutation> {
  readonly table: number;
  readonly row: Uint8Array;
  readonly cell: string;
  readonly mutation: M;
}

/** What mutations come to: all deletes first, then each version once. */
export interface NetMutations {
  readonly deletes: readonly CellChange<DeleteMutation>[];
  readonly puts: readonly CellChange<PutMutation>[];
}

/**
 * Brings mutations, which apply in order, into a form that two statements can apply: a put that a
 * later delete removes, or that a later put replaces, is left out.
 */
export function netMutations(changes: readonly CellChange[]): NetMutations {
  const first = changes[0];
  if (changes.length === 1 && isPut(first!)) return { deletes: [], puts: [first] };
  const deletes: CellChange<DeleteMutation>[] = [];
  /** By part of a cell, and then by timestamp. */
  const puts = new Map<string, Map<number, CellChange<PutMutation>>>();
  for (const change of changes) {
    const { cell, mutation } = change;
    const place = `${mutation.part} ${cell}`;
    const versions = puts.get(place);
    if (mutation.type === "put") {
      const put = { ...change, mutation };
      if (versions === undefined) puts.set(place, new Map([[mutation.timestamp, put]]));
      else versions.set(mutation.timestamp, put);
      continue;
    }
    deletes.push({ ...change, mutation });
    for (const timestamp of versions?.keys() ?? [])
      if (isWithin(timestamp, mutation)) versions!.delete(timestamp);
  }
  return { deletes, puts: [...puts.values()].flatMap((versions) => [...versions.values()]) };
}

function isPut(change: CellChange): change is CellChange<PutMutation> {
  return change.mutation.type === "put";
}

function isWithin(timestamp: number, { from, to }: DeleteMutation): boolean {
  if (timestamp === commitTimestamp) return to >= afterCommits && from < afterCommits;
  return timestamp >= from && timestamp < to;
}
