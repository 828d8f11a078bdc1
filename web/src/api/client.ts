import type { Acted, Failure } from "../../../src/dashboard/api/index.js";
import { type State, searchOf } from "../routing/route.js";

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

/** The address of an API path, relative to the page. */
export function apiPath(name: string, query: State = {}): string {
  return `api/${name}${searchOf(query)}`;
}

/** Sends a GET request. If the signal is aborted, throws the error of `fetch`. */
export async function getJson<T>(path: string, signal: AbortSignal): Promise<T> {
  return await ask<T>(path, { signal });
}

export type Action = "parked/retry" | "parked/discard" | "locks/resolve";

/**
 * Sends a POST request, and calls `tell` with what is done so far. If the signal is aborted, the
 * server ends after what it has begun.
 */
export async function act(
  action: Action,
  body: Readonly<Record<string, string>>,
  tell: (soFar: Acted) => void,
  signal: AbortSignal,
): Promise<Acted> {
  const headers = { "content-type": "application/json", accept: "application/x-ndjson" };
  const init = { method: "POST", headers, body: JSON.stringify(body), signal };
  const response = await reach(`api/${action}`, init);
  if (!response.ok) throw new ApiError(response.status, await failureOf(response));
  let rest = "";
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  for (;;) {
    const { value } = await reader.read().catch((error: unknown) => {
      throw signal.aborted ? error : notReached();
    });
    if (value === undefined) throw notReached();
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const step = JSON.parse(line) as (Acted & { readonly ended?: true }) | Failure;
      if ("code" in step) throw new ApiError(500, step);
      if (step.ended) return step;
      tell(step);
    }
  }
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
    throw notReached();
  }
}

const notReached = () =>
  new ApiError(0, { code: "NOT_REACHED", message: "The dashboard's server does not answer." });

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
