import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Beside the tests, so that imports are found as a program in this repository finds them; a folder for each process, since the tests
 * may be run twice at a time.
 */
export const place = join(root, "test", "docs", "generated", `pages-${process.pid}`);

/** A complete program of a page: a block of TypeScript that imports what it uses of `percolatordb`. */
export interface Example {
  /** The page, the heading above it, and its line. */
  readonly title: string;
  readonly code: string;
  /** What it prints: the block of text that follows it, if one does. */
  readonly output: string | undefined;
  /** Whether it declares tests, rather than running from top to bottom. */
  readonly hasTests: boolean;
  /** The name of its file. */
  readonly file: string;
}

/** A fenced block of a page. */
export interface Block {
  readonly language: string;
  /** In brackets behind the language: the file that the block is, or where its commands are given. */
  readonly title: string | undefined;
  /** Marked `no-run`: it shows something that the tests do not run. */
  readonly isShownOnly: boolean;
  readonly body: string;
  readonly line: number;
  readonly heading: string;
}

/** The complete programs of a page. Blocks that only show a few lines are left out. */
export function examplesOf(page: string, markdown: string): readonly Example[] {
  const blocks = blocksOf(markdown);
  return blocks.flatMap(({ language, title, isShownOnly, body, line, heading }, index) => {
    // A block with a name is part of a story, which is run in its order.
    if (
      language !== "ts" ||
      isShownOnly ||
      title !== undefined ||
      !/^import .*"percolatordb(\/\w+)?";$/m.test(body)
    )
      return [];
    const next = blocks[index + 1];
    return {
      title: `${page}, line ${line}: ${heading}`,
      code: body,
      output: next?.language === "text" ? next.body : undefined,
      hasTests: /^import .*"vitest";$/m.test(body),
      file: `${page.replaceAll(/\W+/g, "-")}-${line}.ts`,
    };
  });
}

/** The fenced blocks of a page, in order. */
export function blocksOf(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let open: { readonly info: string; readonly line: number; readonly lines: string[] } | undefined;
  for (const [index, text] of markdown.split("\n").entries()) {
    if (text.startsWith("```")) {
      if (open === undefined) {
        open = { info: text.slice(3).trim(), line: index + 1, lines: [] };
        continue;
      }
      const { info, line, lines } = open;
      blocks.push({ ...infoOf(info), body: `${lines.join("\n")}\n`, line, heading });
      open = undefined;
    } else if (open !== undefined) open.lines.push(text);
    else if (text.startsWith("#")) heading = text.replace(/^#+ */, "");
  }
  return blocks;
}

function infoOf(info: string): Pick<Block, "language" | "title" | "isShownOnly"> {
  const [language = ""] = info.split(" ");
  return { language, title: /\[(.+)\]/.exec(info)?.[1], isShownOnly: / no-run\b/.test(info) };
}

/** Writes an example's file, and gives its path. */
export async function generate({ file, code }: Pick<Example, "file" | "code">): Promise<string> {
  await mkdir(place, { recursive: true });
  const path = join(place, file);
  await writeFile(path, code);
  return path;
}
