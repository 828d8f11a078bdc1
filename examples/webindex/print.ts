/** Results in words, for the terminal. */
import type { MetricsSnapshot } from "percolatordb";
import type { LoadReport } from "./load/report.js";
import type { Verification } from "./twin/verify.js";

export function printLoad(report: LoadReport, seconds: number, live: number): string {
  const { path, pages, added, changed, unchanged, deleted, skipped } = report;
  const rate = seconds === 0 ? 0 : pages / seconds;
  const lines = [
    `${path}: ${number(live)} live pages`,
    `  ${number(pages)} pages in ${seconds.toFixed(1)} s (${rate.toFixed(0)} pages/s, loaded and indexed)`,
    `  ${number(added)} added, ${number(changed)} changed, ${number(unchanged)} unchanged, ${number(deleted)} deleted${
      skipped === 0 ? "" : `, ${number(skipped)} of no use`
    }`,
  ];
  return lines.join("\n");
}

export function printProblems(report: LoadReport): string | undefined {
  const { problems, problemCount } = report;
  if (problemCount === 0) return undefined;
  const more = problemCount - problems.length;
  const lines = problems.map((problem) => `  ${problem}`);
  if (more > 0) lines.push(`  and ${number(more)} more`);
  return [`${count(problemCount, "problem")}:`, ...lines].join("\n");
}

/** What the observers did between two looks at the metrics. */
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
