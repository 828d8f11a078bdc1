/** The page's blocks: what stands between two markers is made by the command, all else by hand. */

const block = /<!-- figure: ([\w-]+) -->\n([\s\S]*?)<!-- end -->/g;

export interface Block {
  readonly name: string;
  readonly text: string;
}

export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(block)].map(([, name, text]) => ({ name: name!, text: text! }));
}

/** The page with new blocks. Throws where it has no place for one of them, or a place for none of them. */
export function withBlocks(page: string, blocks: ReadonlyMap<string, string>): string {
  const names = blocksOf(page).map(({ name }) => name);
  const missing = [...blocks.keys()].filter((name) => !names.includes(name));
  const unknown = names.filter((name) => !blocks.has(name));
  if (missing.length + unknown.length > 0) {
    throw new Error(
      `The page has no markers for: ${missing.join(", ") || "-"}; and markers that are no figure's: ${unknown.join(", ") || "-"}.`,
    );
  }
  return page.replaceAll(
    block,
    (_, name: string) => `<!-- figure: ${name} -->\n${blocks.get(name)!.trim()}\n<!-- end -->`,
  );
}
