import { SchemaError } from "../errors/index.js";
import { isFamily, isSignal } from "../schema/index.js";

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
