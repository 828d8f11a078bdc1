import { LimitExceededError } from "../../../errors/index.js";
import type { Mutation, RowMutation } from "../../mutation.js";
import type { Mutation as BigtableMutation } from "../protos/codec.js";
import { encodeTimestamp, timestampRange } from "../read/timestamps.js";

/**
 * Maximum bytes of a request for one row. Bigtable's own limit is 256 MB, for a row and for a
 * request.
 */
const maxRequestBytes = 200_000_000;

/** Translates the mutations of a row for Bigtable, without those that change nothing. */
export function encodeMutations({ table, mutations }: RowMutation): BigtableMutation[] {
  const encoded: BigtableMutation[] = [];
  let bytes = 0;
  for (const mutation of mutations) {
    bytes += mutation.column.length + (mutation.type === "put" ? mutation.value.length : 0);
    const each = encodeMutation(mutation);
    if (each !== undefined) encoded.push(each);
  }
  if (bytes <= maxRequestBytes) return encoded;
  throw new LimitExceededError(
    `A mutation of table ${JSON.stringify(table)} has ${bytes} bytes; Bigtable takes at most ${maxRequestBytes} at once. ` +
      "Divide it.",
  );
}

function encodeMutation(mutation: Mutation): BigtableMutation | undefined {
  const { part, column } = mutation;
  if (mutation.type === "put") {
    const timestampMicros = encodeTimestamp(mutation.timestamp);
    const { value } = mutation;
    return {
      setCell: { familyName: part, columnQualifier: column, timestampMicros, value },
      deleteFromColumn: undefined,
    };
  }
  const timeRange = timestampRange(mutation.from, mutation.to);
  if (timeRange === "none") return undefined;
  return {
    setCell: undefined,
    deleteFromColumn: { familyName: part, columnQualifier: column, timeRange },
  };
}
