import { type IncomingHttpHeaders, request } from "node:http";
import { type Database, family, int, observer, signal, table, text, tuple } from "percolatordb";
import { type DashboardOptions, serveDashboard } from "percolatordb/dashboard";

export const pages = table("pages", { body: text(), title: text(), links: family(text()), look: signal() });
export const totals = table("totals", { hits: int() });
export const visits = table("visits", { seconds: int() }, { key: tuple(text(), int()) });

/** Takes the first word of a page, and counts all pages in one cell. */
export const titles = observer("titles", pages.body, async (tx, { row, value }) => {
  tx.set(pages.title, row, value?.split(" ")[0] ?? "");
  tx.set(totals.hits, "all", ((await tx.get(totals.hits, "all")) ?? 0) + 1);
});

/** Fails if the title is `bad`. */
export const checks = observer(
  "checks",
  pages.title,
  (_, { value }) => {
    if (value === "bad") throw new TypeError("this title is bad");
  },
  { attempts: 1 },
);

export const observers = [titles, checks];
export const tables = [pages, totals, visits];

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request without the headers and restrictions of `fetch`. */
export function ask(url: URL | string, question: Question = {}): Promise<Answer> {
  const { method = "GET", headers = {}, body } = question;
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** A served dashboard, and how to send requests to it. */
export async function served(db: Database, options: DashboardOptions = {}) {
  const server = await serveDashboard(db, { tables, ...options });
  const get = async <T>(path: string, question?: Question): Promise<T> => {
    const answer = await ask(new URL(`api/${path}`, server.url), question);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as T;
  };
  const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    ask(new URL(`api/${path}`, server.url), {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { server, url: server.url, get, post, [Symbol.asyncDispose]: () => server.close() };
}
