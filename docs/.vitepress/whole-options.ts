import type { MarkdownRenderer } from "vitepress";

/** Lets no line end inside the name of an option, such as after the hyphens of `--json`. */
export function wholeOptions(md: MarkdownRenderer): void {
  md.core.ruler.push("whole-options", ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === "code_inline" && /^--?[\w-]+$/.test(token.content))
        token.attrJoin("class", "option");
    }
  });
}
