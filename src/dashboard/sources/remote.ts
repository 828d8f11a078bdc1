import { InvalidArgumentError, StoreError } from "../../errors/index.js";
import type { Report, ReportRequest } from "../recording/report.js";
import type { TokenSource } from "../server/options.js";
import { boundedText } from "../text/bounded.js";
import type { ReportSource } from "./source.js";

const maxBytes = 32 * 2 ** 20;

/** Reports from the dashboard of another process, by its address and token. */
export class RemoteSource implements ReportSource {
  readonly name: string;
  readonly #url: URL;
  readonly #token: TokenSource | undefined;

  constructor(address: string, token: TokenSource | undefined) {
    this.#url = addressOf(address);
    this.name = `${this.#url.origin}${this.#url.pathname}`.replace(/\/$/, "");
    this.#token = token;
  }

  async reports(request: ReportRequest, signal: AbortSignal): Promise<readonly Report[]> {
    const token = typeof this.#token === "function" ? this.#token() : this.#token;
    const headers = new Headers({ "content-type": "application/json" });
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    const body = JSON.stringify(request);
    const url = new URL("api/report", this.#url);
    const {
      ok,
      status,
      body: answer,
    } = await fetch(url, {
      method: "POST",
      headers,
      body,
      redirect: "error",
      signal,
    });
    const text = answer === null ? "" : await boundedText(answer, maxBytes);
    if (text === undefined) {
      throw new StoreError(
        `The dashboard at ${this.name} answered with more than ${maxBytes} bytes. Check that the address is that of a dashboard.`,
      );
    }
    if (ok) return JSON.parse(text) as readonly Report[];
    throw new StoreError(`The dashboard at ${this.name} answered ${status}: ${text.slice(0, 500)}`);
  }
}

function addressOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "") {
    throw new InvalidArgumentError(
      `${JSON.stringify(address)} is not the address of a dashboard. Give one such as http://10.0.0.7:4180/, without a token in it.`,
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}
