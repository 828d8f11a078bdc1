import type { LoadReport } from "../../examples/webindex/load/report.js";
import type { TableVerdict } from "../../examples/webindex/twin/compare.js";
import { type Counted, kinds, total } from "./counts.js";

/** What came of one crawl. */
export interface Crawl {
  readonly source: string;
  readonly loaded: Pick<
    LoadReport,
    "pages" | "added" | "changed" | "unchanged" | "deleted" | "problems" | "problemCount"
  >;
  /** From the first page until nothing was due. */
  readonly seconds: number;
  readonly requests: Counted;
  /** Runs that each worker committed. */
  readonly runs: readonly number[];
  readonly verdicts: readonly TableVerdict[];
}

/** Pages that were written: what there was to be worked on. */
export function documentsOf({ loaded: { added, changed, deleted } }: Crawl): number {
  return added + changed + deleted;
}

/** How many of the requests that there would have been were sent. */
export function shareOf({ requests: { before, sent } }: Crawl): number {
  return total(sent) / total(before);
}

export function differencesOf({ verdicts }: Crawl): readonly string[] {
  return verdicts.flatMap(({ differences }) => differences);
}

export function isRight(crawl: Crawl): boolean {
  return crawl.loaded.problemCount === 0 && crawl.verdicts.every(({ different }) => different === 0);
}

/** A crawl in words. */
export function describeCrawl(crawl: Crawl): string {
  const { source, loaded, seconds, requests, runs, verdicts } = crawl;
  const documents = documentsOf(crawl);
  const each = (count: number) => (documents === 0 ? "-" : (count / documents).toFixed(1));
  const byKind = kinds.map(
    (kind) => `${kind} ${each(requests.before[kind])} -> ${each(requests.sent[kind])}`,
  );
  return [
    `${source}: ${whole(loaded.pages)} pages in ${seconds.toFixed(1)} s, ${(loaded.pages / seconds).toFixed(1)} pages/s`,
    `  ${loaded.added} added, ${loaded.changed} changed, ${loaded.unchanged} unchanged, ${loaded.deleted} deleted`,
    ...loaded.problems
      .flatMap(({ examples }) => examples)
      .map((problem) => `  could not be loaded: ${problem}`),
    `  requests per document: ${each(total(requests.before))} without gathering and fetching ahead, ` +
      `${each(total(requests.sent))} sent: ${shareOf(crawl).toFixed(2)}`,
    `    ${byKind.join(", ")}`,
    `  runs of the workers: ${runs.map(whole).join(", ")}`,
    ...verdicts.map(
      ({ table, rows, cells, different }) =>
        `  ${table}: ${whole(rows)} rows, ${whole(cells)} cells, ${different === 0 ? "equal to the twin" : `${whole(different)} DIFFERENT`}`,
    ),
    ...differencesOf(crawl).map((difference) => `    ${difference}`),
  ].join("\n");
}

function whole(value: number): string {
  return value.toLocaleString("en");
}
