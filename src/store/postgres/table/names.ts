import { InvalidArgumentError } from "../../../errors/index.js";

/** Names are at most this long in PostgreSQL, in bytes. It would cut longer ones. */
const maxNameBytes = 63;

/** The schema's name as SQL. */
export function quoteSchema(schema: string): string {
  if (schema === "" || /[\0$]/.test(schema) || Buffer.byteLength(schema) > maxNameBytes) {
    throw new InvalidArgumentError(
      `\`schema\` must have 1 to ${maxNameBytes} bytes and neither NUL nor "$"; ${JSON.stringify(schema)} does not fit.`,
    );
  }
  if (schema.startsWith("pg_") || schema === "information_schema") {
    throw new InvalidArgumentError(
      `PostgreSQL keeps the schema ${JSON.stringify(schema)} for itself. Choose another name.`,
    );
  }
  return `"${schema.replaceAll('"', '""')}"`;
}

/** A text as an SQL literal, which means the same under every setting of the server. */
export function quoteText(text: string): string {
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
