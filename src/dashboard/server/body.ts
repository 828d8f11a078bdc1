import type { IncomingMessage } from "node:http";
import { AbortedError } from "../../errors/index.js";
import { RequestError } from "./failure.js";

const maxBytes = 64 * 1_024;

/** What was sent, as a JSON object. */
export async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new RequestError(415, "CONTENT_TYPE", "Send JSON, with `content-type: application/json`.");
  }
  const text = await textOf(request);
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new RequestError(400, "INVALID_ARGUMENT", "What was sent is not a JSON object.");
}

/** What is too long is read to its end and let go: whoever sends it learns why. */
function textOf(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else reject(new RequestError(413, "TOO_LARGE", `At most ${maxBytes} bytes can be sent.`, closing));
    });
    request.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    request.on("error", reject);
    request.on("close", () => reject(new AbortedError("Whoever sent something has gone.")));
  });
}

const closing = { connection: "close" };

/** The one string of a body. */
export function stringOf(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || (typeof value === "string" && value.length <= 16_384)) return value;
  throw new RequestError(400, "INVALID_ARGUMENT", `\`${name}\` must be a string.`);
}
