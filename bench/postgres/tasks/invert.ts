import { pageId } from "../../../examples/webindex/identity.js";
import type { Links } from "../../../examples/webindex/tables.js";
import type { Session } from "../session.js";

/**
 * Adds pages' links to the pages that they lead to. Writes only what changed since the last time.
 */
export async function invert(session: Session, urls: readonly string[]): Promise<void> {
  const rows = await session.all<{ url: string; links: Links | null; inverted: Links | null }>(
    "invert",
    "select url, links, inverted from documents where url = any($1::text[]) order by url for update",
    [urls],
  );
  const come: { target: string; source: string; anchor: string }[] = [];
  const gone: { target: string; source: string }[] = [];
  for (const { url, links, inverted } of rows) {
    const source = pageId(url).text;
    const before = new Map(inverted ?? []);
    for (const [target, anchor] of links ?? []) {
      const was = before.get(target);
      before.delete(target);
      if (was !== anchor) come.push({ target, source, anchor });
    }
    for (const target of before.keys()) gone.push({ target, source });
  }
  for (const { target } of [...come, ...gone]) session.notify("relink", target);
  if (come.length > 0) {
    await session.all(
      "link",
      `insert into links select * from unnest($1::text[], $2::text[], $3::text[])
       on conflict (target, source) do update set anchor = excluded.anchor`,
      [come.map(({ target }) => target), come.map(({ source }) => source), come.map(({ anchor }) => anchor)],
    );
  }
  if (gone.length > 0) {
    await session.all(
      "unlink",
      `delete from links l using unnest($1::text[], $2::text[]) as gone(target, source)
       where l.target = gone.target and l.source = gone.source`,
      [gone.map(({ target }) => target), gone.map(({ source }) => source)],
    );
  }
  await session.all("inverted", "update documents set inverted = links where url = any($1::text[])", [
    rows.map(({ url }) => url),
  ]);
}
