import { type Database, open } from "percolatordb";
import { loadSource } from "../../examples/webindex/load/loader.js";
import { observers } from "../../examples/webindex/observers/index.js";
import { openSource, type Source } from "../../examples/webindex/sources/index.js";
import { tables } from "../../examples/webindex/tables.js";
import { compareWithTwin } from "../../examples/webindex/twin/compare.js";
import { WrongResultError } from "../harness/compare.js";
import { allKinds, prefetchHits, type Requests, requestKinds, since, totalOf } from "../harness/requests.js";
import type { BenchCase, CaseFigure } from "./bench.js";
import { siteCrawl } from "./wire-documents.js";
import { WireStore } from "./wire-store.js";

const shapes = {
  quick: { pages: 300, words: 150, links: 26 },
  full: { pages: 800, words: 150, links: 26 },
} as const;
/**
 * The second crawl changes all pages except one in this many. The third crawl changes only the
 * pages that the second one left unchanged.
 */
const oneIn = 10;
/** The limits for a crawl of many documents. */
interface Limits {
  /** The requests a document that are sent. The paper's crawler needs about 50 operations. */
  readonly sent?: number | undefined;
  /** The share of the requests `before` that is sent. */
  readonly share: number;
}
const siteLimits: Limits = { sent: 50, share: 0.5 };
const archiveLimits: Limits = { share: 0.5 };
/** The requests of a phase, counted in three ways. */
interface Counted {
  /** As without prefetching, joining and batching: one request for each step of the protocol. */
  readonly before: Requests;
  /** As the store and the oracle are called. */
  readonly asked: Requests;
  /** As sent by a store that batches the calls of one tick. */
  readonly sent: Requests;
}

/**
 * The web index over a store with a simulated network. Requests are counted as in section 2.5 of
 * the paper. Time is not compared, because the simulation has only one cost of a network, its
 * latency.
 */
export const wire: BenchCase = {
  name: "wire",
  about:
    "the web index: requests per document to a distant store, with and without gathering and fetching ahead",
  async run(bench) {
    const { quick, source } = bench.options;
    const shape = quick ? shapes.quick : shapes.full;
    const store = new WireStore();
    const db = await open(store, { tables, observers, oracle: store.oracle, collectEveryMs: 0 });
    const figures: CaseFigure[] = [];
    try {
      const worker = db.work();
      const crawl = async (name: string, pages: Source, limits?: Limits) => {
        bench.say(`wire: ${name}`);
        const start = countAll(store, db);
        const { added, changed, deleted } = await loadSource(db, pages);
        await worker.idle();
        const documents = added + changed + deleted;
        figures.push(...figuresOf(name, documents, countAll(store, db), start, limits));
      };
      if (source !== undefined) await crawl("the archive", await openSource(source), archiveLimits);
      else {
        await crawl("first crawl", siteCrawl(shape), siteLimits);
        const isOld = (page: number) => page % oneIn === 0;
        await crawl(
          "nearly all changed",
          siteCrawl(shape, (page) => !isOld(page)),
          siteLimits,
        );
        await crawl(
          "few changed",
          siteCrawl(shape, () => true),
        );
      }
      await worker.stop();
      await expectTwin(db);
    } finally {
      await db.close();
    }
    return { comparisons: [], figures };
  },
};

function countAll({ asked, gathered }: WireStore, db: Database): Counted {
  const { joined } = db.metrics.requests;
  const before = {
    ...asked,
    read: asked.read + prefetchHits(db),
    conditionalMutation: asked.conditionalMutation + joined,
  };
  return { before, asked: { ...asked }, sent: { ...gathered } };
}

function figuresOf(
  name: string,
  documents: number,
  end: Counted,
  start: Counted,
  limits: Limits | undefined,
): CaseFigure[] {
  const [before, asked, sent] = (["before", "asked", "sent"] as const).map((way) =>
    since(end[way], start[way]),
  ) as [Requests, Requests, Requests];
  const each = (what: string, value: number): CaseFigure => ({
    name: `${name}, ${what}`,
    value: value / documents,
    unit: "requests a document",
  });
  return [
    { name: `${name}, documents`, value: documents, unit: "documents" },
    ...allKinds.flatMap((kind) => [
      each(`${requestKinds[kind]} before`, before[kind]),
      each(`${requestKinds[kind]} sent`, sent[kind]),
    ]),
    each("all, before", totalOf(before)),
    each("all, fetched ahead and joined", totalOf(asked)),
    { ...each("all, gathered by the store too", totalOf(sent)), ceiling: limits?.sent },
    {
      name: `${name}, share that is sent`,
      value: totalOf(sent) / totalOf(before),
      unit: "of the requests before",
      ceiling: limits?.share,
    },
  ];
}

async function expectTwin(db: Database): Promise<void> {
  await using view = await db.snapshot();
  for (const { table, different, differences } of await compareWithTwin(view)) {
    if (different > 0)
      throw new WrongResultError(`${table} differs from the twin: ${differences.join("; ")}`);
  }
}
