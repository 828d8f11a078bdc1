import { blocksOf } from "./examples.js";

/** One action of the page's reader, in the page's order. */
export type Step =
  /** Creates or replaces a file. */
  | { readonly type: "file"; readonly name: string; readonly text: string; readonly line: number }
  /** Runs commands and expects this output. `undefined` if the page does not show the output. */
  | {
      readonly type: "run";
      readonly commands: readonly string[];
      readonly shows: string | undefined;
      readonly line: number;
    }
  /** Starts a command in another terminal, and waits until it has printed this. */
  | { readonly type: "start"; readonly command: string; readonly shows: string; readonly line: number }
  /** Ends that command with Ctrl-C. */
  | { readonly type: "stop"; readonly line: number };

/** The pages that are one story. Tests of their own play all of their blocks. */
export const stories: readonly string[] = ["docs/first-hour.md", "docs/live-applications.md"];

const stopMark = "<!-- stop the second terminal -->";

/**
 * Returns the steps of a page that is one story: its files, commands and their output, in the order
 * of its blocks.
 */
export function storyOf(markdown: string): readonly Step[] {
  const blocks = blocksOf(markdown);
  const steps: Step[] = [];
  for (const [index, { language, title, body, line }] of blocks.entries()) {
    const next = blocks[index + 1];
    const shows = next?.language === "text" ? next.body : undefined;
    const commands = body.trimEnd().split("\n");
    if (language === "text") continue;
    if (language !== "sh") steps.push({ type: "file", name: named(title, line), text: body, line });
    else if (title === undefined) steps.push({ type: "run", commands, shows, line });
    else steps.push({ type: "start", command: commands.join("\n"), shows: shows ?? "", line });
  }
  for (const [index, text] of markdown.split("\n").entries()) {
    if (text === stopMark) steps.push({ type: "stop", line: index + 1 });
  }
  return steps.sort((a, b) => a.line - b.line);
}

function named(title: string | undefined, line: number): string {
  if (title !== undefined) return title;
  throw new Error(`The block at line ${line} has no name: give it one, as in \`\`\`ts [tables.ts].`);
}

/** Removes text that differs from run to run: times, timestamps, durations. */
export function withoutTimes(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME")
    .replaceAll(/\b1\d{15}\b/g, "TIMESTAMP")
    .replaceAll(/\b\d+(\.\d+)?(ms|s|m|h)\b/g, "DURATION")
    .replaceAll(/(DURATION )+DURATION/g, "DURATION");
}

/** The output on a terminal, separated into data and notes for people. */
export interface Shown {
  readonly data: readonly string[];
  readonly notes: readonly string[];
}

/** Parses the output that a page shows. */
export function shownBy(text: string): Shown {
  const lines = linesOf(text);
  const isNote = (line: string) => line.startsWith("note: ");
  return { data: lines.filter((line) => !isNote(line)), notes: lines.filter(isNote) };
}

/** Returns the lines of a text, without what differs from run to run. */
export function linesOf(text: string): readonly string[] {
  return withoutTimes(text)
    .split("\n")
    .filter((line) => line !== "");
}

/** Returns the words of a command on the page, with quotes as in a shell. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c!);
}
