import { coordinatorCatalogue, gaugeCatalogue } from "../../src/dashboard/index.js";
import { eventCatalogue, metricCatalogue, metricPrefix } from "../../src/events/index.js";

interface Row {
  readonly name: string;
  readonly kind: string;
  readonly about: string;
  readonly labels: readonly string[];
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ name, kind, labels, about }) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${metricPrefix}${name}\` | ${kind} | ${shown} | ${about} |`;
  });
  return ["| metric | kind | labels | what it says |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

/** The tables of docs/observability.md, generated from the code, by the comment before each. */
export const tables: Readonly<Record<string, string>> = {
  metrics: table(metricCatalogue),
  gauges: table(gaugeCatalogue),
  coordinator: table(coordinatorCatalogue),
  events: [
    "| event | when |",
    "| --- | --- |",
    ...Object.entries(eventCatalogue).map(([name, about]) => `| \`${name}\` | ${about} |`),
  ].join("\n"),
};

/** Returns the page with newly generated tables. */
export function withTables(page: string): string {
  return page.replace(
    /<!-- table: (\w+) -->\n[\s\S]*?<!-- end -->/g,
    (_, name: string) => `<!-- table: ${name} -->\n${tables[name] ?? "unknown"}\n<!-- end -->`,
  );
}
