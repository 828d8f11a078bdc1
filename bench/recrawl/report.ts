/** What bringing an index to a crawl took. */
export interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export interface IndexCost extends Cost {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly deleted: number;
  /** Runs of observers that committed. */
  readonly runs: number;
  readonly commits: number;
  readonly cells: number;
  /** Cells that differ from the twin's. */
  readonly wrong: number;
  readonly problems: readonly string[];
}

/** One crawl after the first. */
export interface Recrawl {
  readonly name: string;
  /** Pages that there are after it. */
  readonly pages: number;
  /** The index of the crawls before, brought up to date. */
  readonly update: IndexCost;
  /** Every page loaded into an empty database. */
  readonly load: IndexCost;
  /** Every page by the batch twin: plain functions, in memory. */
  readonly rebuild: Cost;
}

/** What `npm run recrawl` writes. */
export interface RecrawlReport {
  readonly configuration: {
    readonly date: string;
    readonly node: string;
    readonly system: string;
    readonly cpu: string;
    readonly cpus: number;
    readonly memoryGiB: number;
  };
  readonly first: { readonly name: string; readonly pages: number; readonly load: IndexCost };
  readonly crawls: readonly Recrawl[];
}

/** The part of the pages that a crawl changed, 0 to 1. */
export function shareChanged({ pages, update }: Pick<Recrawl, "pages" | "update">): number {
  const { added, changed, deleted } = update;
  return pages + deleted === 0 ? 0 : (added + changed + deleted) / (pages + deleted);
}

export function wrongOf({ first, crawls }: RecrawlReport): number {
  const all = [first.load, ...crawls.flatMap(({ update, load }) => [update, load])];
  return all.reduce((sum, { wrong }) => sum + wrong, 0);
}

export function describeFirst({ name, pages, load }: RecrawlReport["first"]): string {
  return [
    `${name}: ${whole(pages)} pages into an empty database`,
    `  ${describeCost(load)}`,
    ...problemsOf(load),
  ].join("\n");
}

export function describeRecrawl(recrawl: Recrawl): string {
  const { name, pages, update, load, rebuild } = recrawl;
  const { added, changed, deleted } = update;
  const part = (of: (cost: Cost) => number, than: Cost) => (of(update) / of(than)).toFixed(2);
  const beside = (than: Cost) =>
    `${part(({ seconds }) => seconds, than)} of its time, ${part(({ cpuSeconds }) => cpuSeconds, than)} of its processor time`;
  return [
    `${name}: ${whole(pages)} pages, ${added} added, ${changed} changed, ${deleted} deleted: ${(100 * shareChanged(recrawl)).toFixed(1)} %`,
    `  brought up to date          ${describeCost(update)}`,
    `  into an empty database      ${describeCost(load)}`,
    `  rebuilt in memory           ${rebuild.seconds.toFixed(2)} s, ${rebuild.cpuSeconds.toFixed(2)} s of processors`,
    `  the update took, beside the load, ${beside(load)}`,
    `                   beside the rebuild, ${beside(rebuild)}`,
    ...problemsOf(update),
    ...problemsOf(load),
  ].join("\n");
}

function describeCost({ seconds, cpuSeconds, runs, commits, cells, wrong }: IndexCost): string {
  return (
    `${seconds.toFixed(2)} s, ${cpuSeconds.toFixed(2)} s of processors, ${whole(runs)} runs, ${whole(commits)} commits of ` +
    `${whole(cells)} cells, ${wrong === 0 ? "equal to the twin" : `${wrong} cells WRONG`}`
  );
}

const problemsOf = ({ problems }: IndexCost) => problems.map((problem) => `  WRONG: ${problem}`);

function whole(value: number): string {
  return value.toLocaleString("en");
}
