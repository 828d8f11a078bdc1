import type { Acted, Failure } from "../../../src/dashboard/api.js";

/** Thrown if the server refuses a request, or if no answer comes. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: string;
  /** 0 if there was no answer. */
  readonly status: number;

  constructor(status: number, { code, message }: Failure) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** The address of an API path, relative to the page. */
export function apiPath(name: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `api/${name}${search === "" ? "" : `?${search}`}`;
}

/** Sends a GET request. If the signal is aborted, throws the error of `fetch`. */
export async function getJson<T>(path: string, signal: AbortSignal): Promise<T> {
  return await ask<T>(path, { signal });
}

export type Action = "parked/retry" | "parked/discard" | "locks/resolve";

/** Sends a POST request. */
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
    // A proxy between server and page may answer in another format.
  }
  return {
    code: `HTTP_${response.status}`,
    message: `The server answered ${response.status} ${response.statusText}.`,
  };
}
