import type { IncomingMessage, ServerResponse } from "node:http";
import { RequestError } from "./failure.js";
import { noStore, securityHeaders } from "./headers.js";
import type { Pages } from "./pages.js";
import { notBuiltPage } from "./plain-page.js";

const aYear = "private, max-age=31536000, immutable";

/** Answers with a file of the pages. */
export async function answerPage(
  pages: Pages,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    throw new RequestError(405, "METHOD", "Here GET is answered.", { allow: "GET, HEAD" });
  }
  const page = await pages.find(path);
  if (page === undefined) {
    if (path === "index.html" && !(await pages.areBuilt()))
      return sendText(request, response, 503, notBuiltPage);
    throw new RequestError(404, "NOT_FOUND", "There is no such page: the dashboard begins at its base.");
  }
  const headers = {
    ...securityHeaders,
    "cache-control": page.isHashed ? aYear : "no-cache",
    etag: page.etag,
  };
  if (request.headers["if-none-match"] === page.etag) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, { ...headers, "content-type": page.type, "content-length": page.body.length });
  response.end(request.method === "HEAD" ? undefined : page.body);
}

/** Answers with a page of words. */
export function sendText(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: string,
): void {
  response.writeHead(status, {
    ...noStore,
    "content-type": "text/html; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
