import { SchemaError } from "../errors/index.js";
import { isFamily, isSignal } from "../schema/index.js";

/** The error for an argument of the wrong kind. `call` needs a column, a family or a table. */
export function notAColumn(call: string, given: unknown): SchemaError {
  const wanted =
    call === "entries" ? "a family" : call === "scan" ? "a column, a family or a table" : "a column";
  if (isSignal(given)) {
    return new SchemaError(
      `\`${call}\` takes ${wanted}, and ${given.table.name}.${given.name} is a signal: signals are only notified.`,
    );
  }
  if (isFamily(given)) {
    const { table, name } = given;
    return new SchemaError(
      `\`${call}\` takes ${wanted}, and ${table.name}.${name} is a family: name a cell of it by \`.at(qualifier)\`.`,
    );
  }
  return new SchemaError(`\`${call}\` takes ${wanted} of a table made with \`table(name, columns)\`.`);
}
