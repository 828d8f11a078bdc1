import { posix } from "node:path";
import type { MarkdownRenderer } from "vitepress";

export interface LinksOptions {
  /** Where files of the repository can be read; ends with a slash. Without it, links to them become text. */
  readonly repository?: string | undefined;
}

/** Where a page was written, in the repository: the pages of examples are their README files. */
export function sourceOf(page: string): string {
  const example = /^examples\/([\w-]+)\.md$/.exec(page);
  return example === null
    ? `docs/${page.replace(/^decisions\/index\.md$/, "decisions.md")}`
    : `examples/${example[1]}/README.md`;
}

/**
 * Where a link leads on the site: pages under `docs/` and the examples' pages to each other, by paths from the site's root;
 * files beside them to the repository, or nowhere (`undefined`). Links of other kinds stay.
 */
export function target(href: string, page: string, { repository }: LinksOptions): string | undefined {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const file = posix.join(posix.dirname(sourceOf(page)), path);
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (file === "docs" || file.startsWith("docs/")) return `/${file.slice("docs/".length)}${hash}`;
  const example = /^examples\/([\w-]+)(\/README\.md|\/)?$/.exec(file);
  if (example !== null) return `/examples/${example[1]}.md${hash}`;
  return repository === undefined ? undefined : `${repository}${file}${hash}`;
}

/** Lets links that leave `docs/` lead where they can. */
export function linksOutside(md: MarkdownRenderer, options: LinksOptions): void {
  md.core.ruler.push("links-outside", (state) => {
    const page = String(state.env.relativePath ?? "");
    for (const { children } of state.tokens) {
      let isText = false;
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const to = target(token.attrGet("href") ?? "", page, options);
          if (to !== undefined) token.attrSet("href", to);
          isText = to === undefined;
        }
        if (!isText || (token.type !== "link_open" && token.type !== "link_close")) continue;
        if (token.type === "link_close") isText = false;
        token.type = "text";
        token.tag = "";
        token.nesting = 0;
        token.content = "";
      }
    }
  });
}
