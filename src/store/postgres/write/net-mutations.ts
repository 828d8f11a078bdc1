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
  const puts = new Map<string, CellChange<PutMutation>>();
  for (const change of changes) {
    const { cell, mutation } = change;
    if (mutation.type === "put") {
      puts.set(`${mutation.part} ${mutation.timestamp} ${cell}`, { ...change, mutation });
      continue;
    }
    deletes.push({ ...change, mutation });
    for (const [key, put] of puts) {
      const isSame = put.cell === cell && put.mutation.part === mutation.part;
      if (isSame && isWithin(put.mutation.timestamp, mutation)) puts.delete(key);
    }
  }
  return { deletes, puts: [...puts.values()] };
}

function isPut(change: CellChange): change is CellChange<PutMutation> {
  return change.mutation.type === "put";
}

function isWithin(timestamp: number, { from, to }: DeleteMutation): boolean {
  if (timestamp === commitTimestamp) return to >= afterCommits && from < afterCommits;
  return timestamp >= from && timestamp < to;
}
