import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Next to the tests, so that imports resolve as for a program in this repository. Each process has
 * a separate folder, because the tests may run twice at a time.
 */
export const place = join(root, "test", "docs", "generated", `pages-${process.pid}`);

/**
 * A complete program of a page: a block of TypeScript that imports what it needs from
 * `percolatordb`.
 */
export interface Example {
  /** The page, the heading above it, and its line. */
  readonly title: string;
  readonly code: string;
  /** Its output: the block of text after it, if there is one. */
  readonly output: string | undefined;
  /** Whether it declares tests instead of running from top to bottom. */
  readonly hasTests: boolean;
  /** The name of its file. */
  readonly file: string;
}

/** A fenced block of a page. */
export interface Block {
  readonly language: string;
  /**
   * In brackets after the language: the name of the file, or the place where its commands are
   * entered.
   */
  readonly title: string | undefined;
  /** Marked `no-run`: the tests do not run it. */
  readonly isShownOnly: boolean;
  readonly body: string;
  readonly line: number;
  readonly heading: string;
}

/** Returns the complete programs of a page. Blocks of only a few lines are left out. */
export function examplesOf(page: string, markdown: string): readonly Example[] {
  const blocks = blocksOf(markdown);
  return blocks.flatMap(({ language, title, isShownOnly, body, line, heading }, index) => {
    // A named block is part of a story, which runs in order.
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

/** Writes an example's file and returns its path. */
export async function generate({ file, code }: Pick<Example, "file" | "code">): Promise<string> {
  await mkdir(place, { recursive: true });
  const path = join(place, file);
  await writeFile(path, code);
  return path;
}
