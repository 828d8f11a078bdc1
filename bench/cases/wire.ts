import { type Database, open } from "percolatordb";
import { loadSource } from "../../examples/webindex/load/loader.js";
import { observers } from "../../examples/webindex/observers/index.js";
import { openSource, type Source } from "../../examples/webindex/sources/index.js";
import { tables } from "../../examples/webindex/tables.js";
import { compareWithTwin } from "../../examples/webindex/twin/compare.js";
import type { BenchCase, Figure } from "../context.js";
import { WrongResultError } from "../harness.js";
import { siteCrawl } from "./wire-documents.js";
import { sum, type WireCounts, type WireKind, WireStore, wireKinds } from "./wire-store.js";

const shapes = {
  quick: { pages: 300, words: 150, links: 26 },
  full: { pages: 800, words: 150, links: 26 },
} as const;
/** Of so many pages one is as before in the second crawl, and one is not in the third. */
const oneIn = 10;
/** The most that is wanted of the requests that there would be without all this, where many documents are worked on. */
const maxShare = 0.5;
const shown: Readonly<Record<WireKind, string>> = {
  read: "reads",
  scan: "scans",
  conditional: "conditional mutations",
  plain: "plain mutations",
  timestamp: "timestamps",
};

/** Requests of a stretch of work, in three ways of counting. */
interface Counted {
  /** Without fetching ahead, joining and gathering: each of what the protocol does is a request. */
  readonly before: WireCounts;
  /** As the store and the oracle are asked. */
  readonly asked: WireCounts;
  /** As they are sent by a store that gathers what is asked in one tick. */
  readonly sent: WireCounts;
}

/**
 * The web index over a store behind a wire, one request after the other counted: as the paper's section 2.5 counts them. A share of time
 * is not measured, since nothing here has the costs of a network but its latency.
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
    const figures: Figure[] = [];
    try {
      const worker = db.work();
      const crawl = async (name: string, pages: Source, ceiling?: number) => {
        bench.say(`wire: ${name}`);
        const start = countAll(store, db);
        const { added, changed, deleted } = await loadSource(db, pages);
        await worker.idle();
        const documents = added + changed + deleted;
        figures.push(...figuresOf(name, documents, difference(countAll(store, db), start), ceiling));
      };
      if (source !== undefined) await crawl("the archive", await openSource(source), maxShare);
      else {
        await crawl("first crawl", siteCrawl(shape), maxShare);
        const isOld = (page: number) => page % oneIn === 0;
        await crawl(
          "nearly all changed",
          siteCrawl(shape, (page) => !isOld(page)),
          maxShare,
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

function countAll(store: WireStore, db: Database): Counted {
  const { requests, observers: byObserver } = db.metrics;
  const hits = Object.values(byObserver).reduce((total, { prefetch }) => total + prefetch.hits, 0);
  const { asked, gathered } = store;
  const before = { ...asked, read: asked.read + hits, conditional: asked.conditional + requests.joined };
  return { before, asked: { ...asked }, sent: { ...gathered } };
}

function difference(end: Counted, start: Counted): Counted {
  const since = (way: keyof Counted) =>
    Object.fromEntries(
      wireKinds.map((kind) => [kind, end[way][kind] - start[way][kind]]),
    ) as unknown as WireCounts;
  return { before: since("before"), asked: since("asked"), sent: since("sent") };
}

function figuresOf(
  name: string,
  documents: number,
  { before, asked, sent }: Counted,
  ceiling: number | undefined,
): Figure[] {
  const each = (what: string, value: number): Figure => ({
    name: `${name}, ${what}`,
    value: value / documents,
    unit: "requests a document",
  });
  return [
    { name: `${name}, documents`, value: documents, unit: "documents" },
    ...wireKinds.flatMap((kind) => [
      each(`${shown[kind]} before`, before[kind]),
      each(`${shown[kind]} sent`, sent[kind]),
    ]),
    each("all, before", sum(before)),
    each("all, fetched ahead and joined", sum(asked)),
    each("all, gathered by the store too", sum(sent)),
    {
      name: `${name}, share that is sent`,
      value: sum(sent) / sum(before),
      unit: "of the requests before",
      ceiling,
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
