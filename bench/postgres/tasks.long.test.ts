import { runMigrations } from "graphile-worker";
import { Pool } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { type Crawl, crawlSource, page, seeded } from "../../examples/webindex/testing/site.js";
import { verdictOf } from "../webindex/verdict.js";
import { postgresIsInstalled } from "./installed.js";
import { loadPages } from "./load.js";
import { schema } from "./schema.js";
import { transact } from "./session.js";
import { asSnapshot } from "./tables.js";
import { steps } from "./tasks/index.js";
import { type TaskName, tasks } from "./tasks/names.js";

const words = "ant bee cat dog eel fox gnu hen ibis jay koi lynx mole newt owl pig".split(" ");
const names = Object.keys(tasks) as TaskName[];

/**
 * Several pages have the same text, links lead everywhere, and pages are removed and added again.
 */
function randomCrawl(
  random: (below: number) => number,
  pages: number,
  changes: number,
  bodies: number,
): Crawl {
  const url = () => `https://example.org/${random(pages)}`;
  const word = () => words[random(words.length)]!;
  const said: Record<string, string | undefined> = {};
  for (let change = 0; change < changes; change++) {
    const links = Object.fromEntries(Array.from({ length: random(4) }, () => [url(), word()]));
    const body = () =>
      random(2) === 0 ? page("Same", words[random(bodies)]!) : page(word(), `${word()} ${word()}`, links);
    said[url()] = random(5) === 0 ? undefined : body();
  }
  return said;
}

describe.skipIf(!postgresIsInstalled())("the tasks in PostgreSQL, compared with the batch twin", () => {
  let server: PostgresServer;
  let pool: Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new Pool({ host: server.host, user: server.user, database: "postgres", max: 16 });
    // Ignores the errors that idle and closing connections emit when their server ends. Failed
    // queries reject anyway.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => client.on("error", () => undefined));
    await runMigrations({ pgPool: pool });
    await pool.query(schema);
  });

  afterEach(() =>
    pool.query("truncate documents, members, clusters, links, postings, shards, pending, urls, due"),
  );

  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });

  /** Runs a task as a worker does, but on few keys at a time, so that there are many runs. */
  async function runOne(name: TaskName): Promise<void> {
    const client = await pool.connect();
    try {
      await transact(client, async (session) => {
        const keys = await session.take(name, 1);
        if (keys.length > 0) await steps[name](session, keys);
      });
    } finally {
      client.release();
    }
  }

  const isDue = async () => (await pool.query("select 1 from due limit 1")).rowCount !== 0;

  /**
   * Runs several tasks concurrently in random order, until nothing is due and `loading` has ended.
   */
  async function work(random: (below: number) => number, loading: Promise<unknown>): Promise<void> {
    let loaded = false;
    const ended = loading.finally(() => {
      loaded = true;
    });
    const one = async () => {
      do await runOne(names[random(names.length)]!);
      while (!loaded || (await isDue()));
    };
    await Promise.all(Array.from({ length: 6 }, one));
    await ended;
  }

  const verdict = async () => verdictOf(asSnapshot(pool));

  it.each([
    { seed: 1, pages: 20, changes: 12, bodies: 16 },
    { seed: 2, pages: 20, changes: 12, bodies: 3 },
    { seed: 3, pages: 80, changes: 60, bodies: 2 },
  ])("random crawls, seed $seed, by overlapping transactions", async ({ seed, pages, changes, bodies }) => {
    const random = seeded(seed);
    for (let step = 0; step < 8; step++) {
      const crawls = [1, 2].map(() => crawlSource(randomCrawl(random, pages, changes, bodies)));
      // Two concurrent loads, while tasks handle their effects.
      await work(random, Promise.all(crawls.map((source) => loadPages(pool, source))));
      expect(await verdict()).toMatchObject({ wrong: 0, problems: [] });
    }
    expect((await verdict()).cells).toBeGreaterThan(100);
  });

  it("errors are found", async () => {
    const crawl = {
      "https://example.org/a": page("A", "ant bee"),
      "https://example.org/b": page("B", "cat"),
    };
    await work(seeded(1), loadPages(pool, crawlSource(crawl)));
    expect((await verdict()).wrong).toBe(0);
    await pool.query("delete from postings where ctid in (select ctid from postings limit 1)");
    await pool.query("update documents set rank = 7 where url = 'https://example.org/b'");
    expect((await verdict()).wrong).toBe(2);
  });

  it("if a page's contents change and change back while a duplicate becomes canonical, the page has no terms left", async () => {
    const [a, b] = ["https://example.org/a", "https://example.org/b"];
    const load = (crawl: Crawl) => loadPages(pool, crawlSource(crawl));
    const same = page("Same", "ant");
    await work(seeded(1), load({ [a]: same, [b]: same }));
    await load({ [a]: page("Other", "bee"), "https://example.org/c": page("C", "cat", { [b]: "dog" }) });
    for (const name of ["extract", "extract", "invert", "invert", "relink"] as const) await runOne(name);
    const { rows } = await pool.query("select canonical from clusters where canonical = $1", [b]);
    expect(rows).toHaveLength(1);
    await load({ [a]: same });
    await runOne("extract");
    await work(seeded(1), Promise.resolve());
    expect(await verdict()).toMatchObject({ wrong: 0, problems: [] });
  });

  it("a page that is not indexed completely is marked until it is short again", async () => {
    const url = "https://example.org/long";
    const long = page("Long", Array.from({ length: 50_001 }, (_, number) => `w${number}`).join(" "));
    for (const [body, expected] of [
      [long, "terms"],
      [page("Long", "ant"), null],
    ] as const) {
      await work(seeded(1), loadPages(pool, crawlSource({ [url]: body })));
      expect(await verdict()).toMatchObject({ wrong: 0, problems: [] });
      const { rows } = await pool.query("select truncated from documents");
      expect(rows).toEqual([{ truncated: expected }]);
    }
  });

  it("a revisit copies the body of the page that it refers to", async () => {
    const [a, b] = ["https://example.org/a", "https://example.org/b"];
    await work(seeded(1), loadPages(pool, crawlSource({ [a]: page("A", "ant bee") })));
    const revisit = crawlSource({ [b]: { unchanged: true } });
    const refers = {
      ...revisit,
      async *items() {
        for await (const item of revisit.items()) {
          yield item.kind === "unchanged" ? { ...item, refersTo: a } : item;
        }
      },
    };
    expect(await loadPages(pool, refers)).toMatchObject({ pages: 1, added: 1 });
    await work(seeded(1), Promise.resolve());
    expect(await verdict()).toMatchObject({ wrong: 0 });
    const { rows } = await pool.query("select distinct hash from documents");
    expect(rows.length).toBe(1);
  });
});
