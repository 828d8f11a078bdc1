import { InvalidArgumentError, SchemaError } from "../errors/index.js";
import { describeValue, isFamily, isSignal } from "../schema/index.js";

/** The error for an argument of the wrong kind. `call` needs a column, a family or a table. */
export function notAColumn(call: string, given: unknown): SchemaError {
  const wanted =
    call === "entries" ? "a family" : call === "scan" ? "a column, a family or a table" : "a column";
  if (isSignal(given)) {
    return new SchemaError(
      `\`${call}\` takes ${wanted}, but ${given.table.name}.${given.name} is a signal, which has no values. Use \`notify\` for a signal.`,
    );
  }
  if (isFamily(given)) {
    const { table, name } = given;
    return new SchemaError(
      `\`${call}\` takes ${wanted}, but ${table.name}.${name} is a family. Name one of its cells with \`.at(qualifier)\`.`,
    );
  }
  return new SchemaError(`\`${call}\` takes ${wanted} of a table that \`table(name, columns)\` returned.`);
}

/** Throws unless `rows` of `getMany` is an iterable. A string is one, but of its characters. */
export function checkRows(rows: Iterable<unknown>): void {
  if (typeof rows !== "string" && typeof rows?.[Symbol.iterator] === "function") return;
  throw new InvalidArgumentError(
    `\`getMany\` takes an array or another iterable of rows, not ${describeValue(rows)}. For one row, use \`get\`.`,
  );
}
