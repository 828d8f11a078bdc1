import { InvalidArgumentError, StoreError } from "../../errors/index.js";
import type { Report, ReportRequest } from "../recording/report.js";
import type { TokenSource } from "../server/access.js";
import type { ReportSource } from "./source.js";

const maxBytes = 32 * 2 ** 20;

/** Reports from the dashboard of another process, by its address and token. */
export class RemoteSource implements ReportSource {
  readonly name: string;
  readonly #url: URL;
  readonly #token: TokenSource | undefined;

  constructor(address: string, token: TokenSource | undefined) {
    this.#url = addressOf(address);
    this.name = this.#url.origin;
    this.#token = token;
  }

  async reports(request: ReportRequest, signal: AbortSignal): Promise<readonly Report[]> {
    const token = typeof this.#token === "function" ? this.#token() : this.#token;
    const response = await fetch(new URL("api/report", this.#url), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(request),
      redirect: "error",
      signal,
    });
    const text = await textOf(response);
    if (!response.ok)
      throw new StoreError(
        `The dashboard at ${this.name} answered ${response.status}: ${text.slice(0, 500)}`,
      );
    return JSON.parse(text) as readonly Report[];
  }
}

function addressOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "") {
    throw new InvalidArgumentError(
      `${JSON.stringify(address)} is not the address of a dashboard: give one such as http://10.0.0.7:4180/, without a token in it.`,
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** The text of an answer, refused if it is longer than `maxBytes`. */
async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes)
      throw new StoreError(`The answer of the dashboard is longer than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
