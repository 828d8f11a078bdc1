import type { IncomingMessage } from "node:http";
import { InvalidArgumentError } from "../../errors/index.js";
import { boundedText } from "../text/bounded.js";
import { RequestError } from "./failure.js";

const maxBytes = 64 * 1_024;

/** The JSON object that a request sends. */
export type Body = Readonly<Record<string, unknown>>;

/** The body of a request, which must be a JSON object. */
export async function readBody(request: IncomingMessage): Promise<Body> {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new RequestError(415, "CONTENT_TYPE", "Send JSON, with `content-type: application/json`.");
  }
  // The request must stay open after a refusal. Otherwise the client would see a broken connection
  // instead of the reason.
  const text = await boundedText(request.iterator({ destroyOnReturn: false }), maxBytes);
  if (text === undefined) {
    const headers = { connection: "close" };
    throw new RequestError(413, "TOO_LARGE", `A body may have at most ${maxBytes} bytes.`, headers);
  }
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Body;
  } catch {
    // Refused below.
  }
  throw new InvalidArgumentError("The body is not a JSON object.");
}

/** A string in a body. */
export function stringOf(body: Body, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || (typeof value === "string" && value.length <= 16_384)) return value;
  throw new InvalidArgumentError(`\`${name}\` must be a string.`);
}
