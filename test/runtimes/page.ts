import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Outcome, programs } from "./battery.js";

const page = fileURLToPath(new URL("../../docs/runtimes.md", import.meta.url));
const [begin, end] = ["<!-- begin: npm run runtimes -->\n", "<!-- end -->"];

export interface RuntimeRow {
  readonly runtime: string;
  /** In the order of the programs. */
  readonly outcomes: readonly Outcome[];
}

/** Prints what ran on which runtime, and writes it into the page if asked. */
export async function writeTable(
  rows: readonly RuntimeRow[],
  { print, toPage }: { readonly print: (text: string) => void; readonly toPage: boolean },
): Promise<void> {
  const words = { ran: "yes", failed: "**no**", cannot: "–" };
  const lines = [
    `| | ${rows.map(({ runtime }) => runtime).join(" | ")} |`,
    `|---|${rows.map(() => "---|").join("")}`,
    ...programs.map(
      ({ shows }, index) =>
        `| ${shows} | ${rows.map(({ outcomes }) => words[outcomes[index]!.word]).join(" | ")} |`,
    ),
  ];
  print(lines.join("\n"));
  if (!toPage) return;
  const text = await readFile(page, "utf8");
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end, from);
  if (from < begin.length || to < 0) throw new Error(`${page} has no place for the table.`);
  await writeFile(page, `${text.slice(0, from)}\n${lines.join("\n")}\n\n${text.slice(to)}`);
}
