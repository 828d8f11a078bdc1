import type { Context } from "hono";
import { answer } from "../server/answers.js";
import type { PlainPages } from "./plain-pages.js";

/** Answers one request. */
export async function answerPlain(c: Context, path: string, pages: PlainPages): Promise<Response> {
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined)
    return sendPlain(c, 404, `There is no such page. The pages are ${Object.keys(pages).join(", ")}.\n`);
  if (c.req.method !== "GET" && c.req.method !== "HEAD")
    return sendPlain(c, 405, "This server answers only GET.\n");
  try {
    const { status, text } = await page();
    return sendPlain(c, status, text);
  } catch (error) {
    return sendPlain(c, 503, `${error instanceof Error ? error.message : String(error)}\n`);
  }
}

/** Sends text as Prometheus reads it. */
export function sendPlain(c: Context, status: number, text: string): Response {
  c.header("x-content-type-options", "nosniff");
  return answer(c, status, "text/plain; version=0.0.4; charset=utf-8", text);
}
