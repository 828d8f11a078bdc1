import { inspect } from "node:util";
import { PercolatorError } from "./errors.js";

/** Errors of a chain of causes that are shown. */
const maxCauses = 4;
/** Errors of an `AggregateError` that are shown. */
const maxErrors = 3;

/**
 * The message of anything thrown, with what caused it: `fetch failed` alone does not say whether the name,
 * the certificate or the server was wrong. The messages of this package's errors contain their causes.
 */
export function messageOf(thrown: unknown): string {
  return messageWithin(thrown, maxCauses);
}

function messageWithin(thrown: unknown, depth: number): string {
  if (!(thrown instanceof Error)) return typeof thrown === "object" ? shown(thrown) : String(thrown);
  const { cause } = thrown;
  const own = String(thrown.message);
  const errors = (thrown as { readonly errors?: unknown }).errors;
  const parts = depth > 0 && Array.isArray(errors) ? listed(errors, depth) : "";
  const message = [own, parts].filter((part) => part !== "").join(": ");
  if (cause === undefined || cause === thrown || depth === 0 || thrown instanceof PercolatorError)
    return message;
  return `${message}, caused by ${named(cause, depth - 1)}`;
}

function listed(errors: readonly unknown[], depth: number): string {
  const more = errors.length > maxErrors ? `; and ${errors.length - maxErrors} more` : "";
  return (
    errors
      .slice(0, maxErrors)
      .map((each) => named(each, depth - 1))
      .join("; ") + more
  );
}

/** A thrown value with its name, and with its code if the message does not have it. */
function named(thrown: unknown, depth: number): string {
  const message = messageWithin(thrown, depth);
  if (!(thrown instanceof Error)) return message;
  const { code } = thrown as { readonly code?: unknown };
  const shownCode = typeof code === "string" && !message.includes(code) ? ` [${code}]` : "";
  return message === "" ? `${thrown.name}${shownCode}` : `${thrown.name}${shownCode}: ${message}`;
}

function shown(thrown: object | null): string {
  return inspect(thrown, {
    depth: 2,
    breakLength: Number.POSITIVE_INFINITY,
    maxArrayLength: 20,
    maxStringLength: 500,
  });
}
