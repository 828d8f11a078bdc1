import type { Acted, Failure } from "../../../src/dashboard/api.js";

/** An answer that is none: refused by the server, or not reached at all. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: string;
  /** 0 where nothing answered. */
  readonly status: number;

  constructor(status: number, { code, message }: Failure) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** The address of an answer, below the page's own. */
export function apiPath(name: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `api/${name}${search === "" ? "" : `?${search}`}`;
}

/** Asks for an answer. An aborted question throws what `fetch` throws. */
export async function getJson<T>(path: string, signal: AbortSignal): Promise<T> {
  return await ask<T>(path, { signal });
}

export type Action = "parked/retry" | "parked/discard" | "locks/resolve";

/** Asks for something to be done. */
export async function act(action: Action, body: Readonly<Record<string, string>>): Promise<Acted> {
  const headers = { "content-type": "application/json" };
  return await ask<Acted>(`api/${action}`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const response = await reach(path, init);
  if (!response.ok) throw new ApiError(response.status, await failureOf(response));
  return (await response.json()) as T;
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ApiError(0, { code: "NOT_REACHED", message: "The dashboard's server does not answer." });
  }
}

async function failureOf(response: Response): Promise<Failure> {
  try {
    const { code, message } = (await response.json()) as Partial<Failure>;
    if (typeof message === "string") return { code: code ?? "UNKNOWN", message };
  } catch {
    // What stands between the server and the page may answer in its own words.
  }
  return {
    code: `HTTP_${response.status}`,
    message: `The server answered ${response.status} ${response.statusText}.`,
  };
}
