import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { failureOf, RequestError } from "./failure.js";

/** An answer that no cache may keep. */
export function answer(
  c: Context,
  status: number,
  type: string,
  body: string | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const length = typeof body === "string" ? { "content-length": String(Buffer.byteLength(body)) } : undefined;
  return c.body(body, status as ContentfulStatusCode, {
    "cache-control": "no-store",
    "content-type": type,
    ...length,
    ...headers,
  });
}

export function answerJson(
  c: Context,
  value: unknown,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Response {
  return answer(c, status, "application/json; charset=utf-8", `${JSON.stringify(value)}\n`, headers);
}

/** Says why a request was refused or failed. */
export function answerFailure(c: Context, error: unknown): Response {
  const { status, failure } = failureOf(error);
  return answerJson(c, failure, status, error instanceof RequestError ? error.headers : undefined);
}
