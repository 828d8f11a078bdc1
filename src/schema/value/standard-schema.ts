import { InvalidValueError } from "../../errors/index.js";
import { describeValue } from "../describe.js";

/**
 * The part of Standard Schema, version 1 (standardschema.dev), that this package uses. zod,
 * valibot, arktype and other libraries implement it. `I` is the schema's input type, `O` its output
 * type.
 */
export interface StandardSchema<I = unknown, O = I> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<O> | Promise<SchemaResult<O>>;
    readonly types?: { readonly input: I; readonly output: O } | undefined;
  };
}

/** The result of a Standard Schema: a value, or a list of issues. */
export type SchemaResult<O> =
  | { readonly value: O; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One reason why the schema refuses a value. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

const shownIssues = 5;

/**
 * Validates a value. Throws an {@link InvalidValueError} if the schema refuses the value, throws,
 * or returns a promise.
 */
export function validate<O>(schema: StandardSchema<unknown, O>, value: unknown): O {
  const result = answer(schema, value);
  if (isThenable(result)) {
    // No caller awaits this promise, so its rejection must not end the process.
    Promise.resolve(result).catch(() => undefined);
    throw new InvalidValueError(
      "the column's schema validates asynchronously, but a column needs a synchronous one; do asynchronous checks elsewhere",
    );
  }
  if (result.issues !== undefined) {
    throw new InvalidValueError(`the column's schema refuses the value: ${listIssues(result.issues)}`);
  }
  return result.value;
}

function isThenable<R>(result: R | PromiseLike<R>): result is PromiseLike<R> {
  return typeof (result as Partial<PromiseLike<R>>).then === "function";
}

function answer<O>(schema: StandardSchema<unknown, O>, value: unknown) {
  try {
    const result = schema["~standard"].validate(value);
    if (typeof result === "object" && result !== null) return result;
    throw new TypeError(`it returned ${describeValue(result)}`);
  } catch (cause) {
    throw new InvalidValueError(
      `the column's schema failed: ${cause instanceof Error ? cause.message : describeValue(cause)}`,
      { cause },
    );
  }
}

function listIssues(issues: readonly SchemaIssue[]): string {
  const listed = issues.slice(0, shownIssues).map(describeIssue).join("; ");
  return issues.length > shownIssues ? `${listed}; and ${issues.length - shownIssues} more` : listed;
}

function describeIssue({ message, path }: SchemaIssue): string {
  if (path === undefined || path.length === 0) return message;
  const keys = path.map((step) => (typeof step === "object" ? step.key : step));
  return `${message} (at ${keys.map((key) => pathStep(key)).join("")})`;
}

/** One step of a path into a value: `.name`, `["any name"]` or `[0]`. */
export function pathStep(key: PropertyKey): string {
  if (typeof key === "string" && /^[A-Za-z_$][\w$]*$/.test(key)) return `.${key}`;
  return typeof key === "string" ? `[${JSON.stringify(key)}]` : `[${String(key)}]`;
}
