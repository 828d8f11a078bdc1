import { describePage } from "../../../examples/webindex/derive.js";
import type { Links } from "../../../examples/webindex/tables.js";
import type { Session } from "../session.js";

interface DocumentRow {
  readonly url: string;
  readonly contents: Buffer | null;
  readonly hash: string | null;
  readonly title: string | null;
  readonly words: string | null;
  readonly links: Links | null;
}

/** Reads pages: hash, title, words, links, and which parts of a long page are left out. */
export async function extract(session: Session, urls: readonly string[]): Promise<void> {
  const rows = await session.all<DocumentRow>(
    "extract",
    "select url, contents, hash, title, words, links from documents where url = any($1::text[]) order by url for update",
    [urls],
  );
  const pages = rows.map((before) => {
    const { url, contents } = before;
    const page = contents === null ? undefined : describePage(contents, url);
    const { hash = null, title = null, words = null, links = null, truncated = null } = page ?? {};
    const [linked, wasLinked] = [JSON.stringify(links), JSON.stringify(before.links)];
    if (before.hash !== hash) session.notify("cluster", url);
    else if (before.words !== words) session.notify("index", url);
    if (wasLinked !== linked) session.notify("invert", url);
    return { url, hash, title, words, links: links === null ? null : linked, truncated };
  });
  await session.all(
    "extracted",
    `update documents d set hash = new.hash, title = new.title, words = new.words, links = new.links::jsonb,
       truncated = new.truncated
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
       as new(url, hash, title, words, links, truncated)
     where d.url = new.url`,
    [
      pages.map(({ url }) => url),
      pages.map(({ hash }) => hash),
      pages.map(({ title }) => title),
      pages.map(({ words }) => words),
      pages.map(({ links }) => links),
      pages.map(({ truncated }) => truncated),
    ],
  );
}
