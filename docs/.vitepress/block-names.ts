import type { MarkdownRenderer } from "vitepress";

/** Shows the name of a block of code above it: the file that it is, or where to type it. */
export function blockNames(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence!;
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const name = /\[(.+)\]\s*$/.exec(tokens[index]!.info)?.[1];
    const block = fence(tokens, index, options, env, self);
    if (name === undefined) return block;
    return `<div class="named-block"><div class="block-name" v-pre>${md.utils.escapeHtml(name)}</div>${block}</div>`;
  };
}
