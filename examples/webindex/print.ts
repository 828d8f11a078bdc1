/** Formats results as text for the terminal. */
import type { MetricsSnapshot } from "percolatordb";
import type { Truncation } from "./derive.js";
import type { Kind, LoadReport } from "./load/report.js";
import type { ProblemKind } from "./sources/index.js";
import { limits, maxTerms } from "./text/index.js";
import type { Verification } from "./twin/verify.js";

export function printLoad(report: LoadReport, seconds: number, live: number): string {
  const { path, pages, added, changed, unchanged, unchecked, deleted, stale, skipped } = report;
  const rate = seconds === 0 ? 0 : pages / seconds;
  const counts = [
    `${number(added)} added, ${number(changed)} changed, ${number(unchanged)} unchanged, ${number(deleted)} deleted`,
  ];
  if (stale > 0) counts.push(`${number(stale)} stale`);
  if (skipped > 0) counts.push(`${number(skipped)} of no use`);
  const lines = [
    `${path}: ${number(live)} live pages`,
    `  ${number(pages)} pages in ${seconds.toFixed(1)} s (${rate.toFixed(0)} pages/s, loaded and indexed)`,
    `  ${counts.join(", ")}`,
  ];
  if (unchecked > 0) {
    lines.push(`  ${number(unchecked)} of the unchanged have no digest to compare: only the server says so`);
  }
  if (skipped > 0) lines.push("  of no use:", ...printKinds(report.skips, explainSkip, "    "));
  if (skipped > 0 && live === 0) lines.push(`  There is nothing to search, because all of it was of no use.`);
  return lines.join("\n");
}

/** Why items that were skipped for a reason cannot be found. The first pattern that fits counts. */
const skipWords: readonly (readonly [reason: RegExp, why: string])[] = [
  [
    /^HTTP status 3/,
    "a redirect has no text of its own; the page that it leads to is indexed if the source has it",
  ],
  [/^HTTP status (404|410)/, "the page is gone, and was not in the index"],
  [/^HTTP status/, "the server answered with an error instead of the page"],
  [/^not a text/, "only HTML, Markdown and plain text are indexed"],
  [/^not of the web/, "only pages of http and https are indexed"],
  [/^not HTTP/, "the record has no answer of a web server"],
  [/^unchanged, never loaded/, "its name is that of an image or another file without text"],
];

function explainSkip(reason: string): string {
  const why = skipWords.find(([pattern]) => pattern.test(reason))?.[1];
  return why === undefined ? reason : `${reason}: ${why}`;
}

const truncationWords: Record<Truncation, string> = {
  links: `pages with more than ${number(limits.links)} links; further ones are not followed`,
  text: `pages with more than ${number(limits.text)} characters of text; what follows cannot be found`,
  terms: `pages with more than ${number(maxTerms)} different terms; further ones cannot be found`,
};

/** Lists how many of all pages are not indexed completely. */
export function printTruncated(kinds: readonly Kind<Truncation>[]): string | undefined {
  if (kinds.length === 0) return undefined;
  const lines = printKinds(kinds, (kind) => truncationWords[kind], "    ");
  return ["  not indexed whole:", ...lines].join("\n");
}

/** Describes each kind of problem. */
const problemWords: Record<ProblemKind, string> = {
  damage: "damaged places",
  digest: "records whose contents do not match their digest; they were not loaded",
  body: "bodies that cannot be decoded; they were not loaded",
  "too long": "pages or URLs that are too long to be indexed",
  record: "records that cannot be understood",
  unreadable: "files or folders that cannot be read",
  unseen: "pages recorded as unchanged that were never loaded",
  "other record":
    "pages recorded as unchanged since a record that was not loaded, without a digest to compare",
  stale: "stale pages: the stored contents are older; load the skipped crawl, then this one again",
};

export function printProblems(report: LoadReport): string | undefined {
  const { problems, problemCount } = report;
  if (problemCount === 0) return undefined;
  const lines = printKinds(problems, (kind) => problemWords[kind], "  ");
  return [`${count(problemCount, "problem")}:`, ...lines].join("\n");
}

/** Prints kinds with their counts, and their examples below. */
function printKinds<K extends string>(
  kinds: readonly Kind<K>[],
  words: (kind: K) => string,
  indent: string,
): string[] {
  return kinds.flatMap(({ kind, count: times, examples }) => {
    const more = times - examples.length;
    const lines = examples.map((example) => `${indent}  ${example}`);
    if (more > 0) lines.push(`${indent}  and ${number(more)} more`);
    return [`${indent}${number(times)} ${words(kind)}`, ...lines];
  });
}

/** Prints what the observers did between two readings of the metrics. */
export function printWork(before: MetricsSnapshot, after: MetricsSnapshot): string {
  const runs = Object.entries(after.observers).map(([name, { runs }]) => {
    const earlier = before.observers[name]?.runs;
    return `${name} ${number(runs.committed - (earlier?.committed ?? 0))}`;
  });
  const conflicts = number(after.conflicts - before.conflicts);
  const commits = after.commits - before.commits;
  const cells = after.cellsCommitted - before.cellsCommitted;
  return [
    `  observer runs: ${runs.length === 0 ? "none" : runs.join(", ")}`,
    `  ${number(commits)} commits of ${number(cells)} cells, ${conflicts} conflicts`,
  ].join("\n");
}

export function printVerification({ verdicts, memory }: Verification): string {
  const lines = verdicts.flatMap(({ table, rows, cells, different, differences }) => {
    const verdict = different === 0 ? "equal" : `${count(different, "cell")} different`;
    const line = `  ${table}: ${number(rows)} rows, ${number(cells)} cells, ${verdict}`;
    return [line, ...differences.map((difference) => `    ${difference}`)];
  });
  const used = memory === undefined ? "" : ` (${megabytes(memory)} of memory)`;
  return [`  compared with an index built from scratch${used}:`, ...lines.map((line) => `  ${line}`)].join(
    "\n",
  );
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(0)} MB`;
}

function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? "" : "s"}`;
}

function number(value: number): string {
  return value.toLocaleString("en");
}
