/** Serves the audit as a page that updates itself. Only this machine reaches it. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Database } from "percolatordb";
import { liveResponse, toNode } from "percolatordb/live";
import { type Listening, listening } from "../support/listening.js";
import { type PageScript, pageScript } from "../support/page-script.js";
import { liveAudit } from "./live-audit.js";

export interface BankServerOptions {
  /** 0 takes a free port. */
  readonly port: number;
  /** The account whose trail is shown if the address names none. */
  readonly account: string;
}

/** Pages that are open at the same time, and the least time between two values of one, in milliseconds. */
const [maxConnections, throttleMs] = [64, 250];
const longestAccount = 100;

const style = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; }
main { display: flex; flex-wrap: wrap; gap: 3rem; }
td + td { text-align: right; font-variant-numeric: tabular-nums; padding-left: 2rem; }
`;

/** Starts the server. */
export async function serveBank(db: Database, { port, account }: BankServerOptions): Promise<Listening> {
  const script = await pageScript(new URL("./audit-page.ts", import.meta.url));
  const live = toNode((request) => {
    const asked = new URL(request.url).searchParams.get("account") ?? account;
    if (asked.length > longestAccount) {
      const message = `The name of an account has at most ${longestAccount} characters.`;
      return Response.json({ code: "INVALID_ARGUMENT", message }, { status: 400 });
    }
    return liveResponse(db, liveAudit(asked), request, {
      maxConnections,
      throttleMs,
      onError: (error) => console.error(error),
    });
  });
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0];
    if (path === "/live/audit") live(request, response);
    else if (path === "/") sendPage(request, response, script);
    else response.writeHead(404, { "Content-Type": "text/plain" }).end("There is only one page, at /.\n");
  });
  return await listening(server, port);
}

function sendPage(request: IncomingMessage, response: ServerResponse, { source, hash }: PageScript): void {
  const styleHash = `sha256-${createHash("sha256").update(style).digest("base64")}`;
  response.writeHead(200, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": `default-src 'none'; style-src '${styleHash}'; script-src '${hash}'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'`,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
  });
  if (request.method === "HEAD") return void response.end();
  response.end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The bank's audit</title>
<style>${style}</style>
<h1>The bank's audit</h1>
<noscript><p>This page needs JavaScript. The same as text: <code>curl --no-buffer</code> of <a href="/live/audit">/live/audit</a></p></noscript>
<p id="state" role="status"></p>
<p id="sum"></p>
<main>
<section><h2>Balances</h2><table><tbody id="balances"></tbody></table></section>
<section><h2 id="account">Trail</h2><p id="waiting"></p><table><tbody id="lines"></tbody></table></section>
</main>
<script type="module">${source}</script>
</html>
`);
}
