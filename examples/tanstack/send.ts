import type { LiveClientOptions } from "percolatordb/live/client";

/** What this program reads of a mutation of TanStack DB. */
export interface Mutation {
  readonly type: "insert" | "update" | "delete";
  readonly original: object;
  readonly modified: object;
}

/** A mutation of one row, as the server gets it. */
export interface RowMutation {
  readonly type: Mutation["type"];
  readonly table: string;
  readonly row: unknown;
  /** The new values by column. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The columns that hold a value no longer. */
  readonly removed: readonly string[];
}

/** The server has refused a mutation. TanStack DB then takes the optimistic state back. */
export class WriteRefusedError extends Error {
  /** Why, as the server says. */
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.name = "WriteRefusedError";
    this.code = code;
    this.status = status;
  }
}

/** Sends mutations to the server, which commits them in one transaction. Returns its timestamp. */
export async function sendMutations(
  url: string,
  table: string,
  mutations: readonly Mutation[],
  options: Pick<LiveClientOptions, "headers" | "credentials" | "fetch">,
): Promise<number> {
  const { headers, credentials = "same-origin" } = options;
  const body = { mutations: mutations.map((mutation) => rowMutation(table, mutation)) };
  const response = await (options.fetch ?? fetch)(url, {
    method: "POST",
    headers: {
      ...(typeof headers === "function" ? await headers() : headers),
      "content-type": "application/json",
    },
    credentials,
    body: JSON.stringify(body),
  });
  const answer = (await response.json().catch(() => undefined)) as
    | { commitTimestamp?: number; code?: string; message?: string }
    | undefined;
  if (response.ok && typeof answer?.commitTimestamp === "number") return answer.commitTimestamp;
  const { code = "HTTP", message = `${url} answered with the status ${response.status}.` } = answer ?? {};
  throw new WriteRefusedError(code, message, response.status);
}

function rowMutation(table: string, { type, original, modified }: Mutation): RowMutation {
  const before = new Map<string, unknown>(Object.entries(original));
  const after = new Map<string, unknown>(Object.entries(modified));
  const row = after.get("row");
  checkJson(row, `The row key of a mutation of ${table}`);
  const values = [...after].filter(
    ([column, value]) => column !== "row" && value !== undefined && !Object.is(value, before.get(column)),
  );
  for (const [column, value] of values) {
    checkJson(value, `The value of ${table}.${column} in the row ${JSON.stringify(row)}`);
  }
  const removed = [...before.keys()].filter((name) => after.get(name) === undefined);
  return { type, table, row, values: Object.fromEntries(values), removed };
}

/** A feed has a form for values that JSON does not have. The server's side of mutations has none. */
function checkJson(value: unknown, what: string): void {
  const isJson =
    value === null ||
    typeof value === "string" ||
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value));
  if (isJson) return;
  const isPlain =
    typeof value === "object" && (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);
  if (!isPlain) {
    throw new TypeError(
      `${what} cannot be sent as JSON. Write it by a function of your own, or keep it in a column of text.`,
    );
  }
  for (const inner of Object.values(value as object)) checkJson(inner, what);
}
