import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Source, SourceItem } from "../page.js";

/** A temporary folder for one test. */
export class Scratch {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<Scratch> {
    return new Scratch(await mkdtemp(join(tmpdir(), "sources-")));
  }

  /** Writes a file and creates its folders. Returns its path. */
  async write(name: string, content: Uint8Array | string): Promise<string> {
    const path = join(this.path, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Returns all items that a source yields. */
export async function all(items: Source | AsyncIterable<SourceItem>): Promise<SourceItem[]> {
  const gathered: SourceItem[] = [];
  for await (const item of "items" in items ? items.items() : items) gathered.push(item);
  return gathered;
}

/** The items of one kind. */
export function only<K extends SourceItem["kind"]>(items: readonly SourceItem[], kind: K) {
  return items.filter((item): item is Extract<SourceItem, { kind: K }> => item.kind === kind);
}

/** Formats an item as one line for comparisons: its kind, and its URL or message. */
export function line(item: SourceItem): string {
  if (item.kind === "problem") return `problem @${item.offset} ${item.message}`;
  return `${item.kind} ${item.url}`;
}
