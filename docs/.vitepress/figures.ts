import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MarkdownRenderer } from "vitepress";

/**
 * Puts the project's own figures (`figures/protocol/*.svg`, `figures/concepts/*.svg`) into the page itself, where they take
 * the page's colours. On a narrow screen, these and the plots scroll, so that their words stay legible.
 */
export function inlineFigures(md: MarkdownRenderer): void {
  const image = md.renderer.rules.image!;
  md.renderer.rules.image = (tokens, index, options, env, self) => {
    const token = tokens[index]!;
    const source = token.attrGet("src") ?? "";
    if (!/(^|\/)figures\/(protocol|concepts)\/[\w-]+\.svg$/.test(source)) {
      const shown = image(tokens, index, options, env, self);
      return source.endsWith(".svg") ? `<span class="figure" tabindex="0">${shown}</span>` : shown;
    }
    const svg = readFileSync(join(dirname(String(env.path)), source), "utf8");
    const label = md.utils.escapeHtml(token.content);
    return `<span class="figure" tabindex="0" v-pre>${svg.replace("<svg ", `<svg role="img" aria-label="${label}" `)}</span>`;
  };
}
