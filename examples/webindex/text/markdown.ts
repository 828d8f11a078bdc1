import { Lexer, type MarkedOptions, marked, type Token, type TokensList } from "marked";
import { cut } from "./charset.js";
import { type Content, limits } from "./document.js";
import { readHtml } from "./html.js";
import type { Parts } from "./parts.js";

/**
 * More deeply nested blocks, and longer runs of inline text, are read as plain text, because
 * parsing them can be slow.
 */
const deepest = 24;
const longestRun = 8_000;

/**
 * Reads title, text and links of a Markdown page (GitHub's dialect). A title in its front matter
 * takes precedence over a heading.
 */
export function* readMarkdown(markdown: string, url: string): Parts<Content> {
  const { title, rest } = splitFrontMatter(markdown);
  const source = rest.slice(0, limits.text);
  const content = yield* readHtml(toHtml(source), url);
  return {
    ...content,
    title: title ?? content.title,
    truncatedText: content.truncatedText || rest.length > source.length,
  };
}

function toHtml(markdown: string): string {
  const lexer = new BoundedLexer({ gfm: true });
  return marked.parser(lexer.lex(markdown), { gfm: true });
}

class BoundedLexer extends Lexer {
  #depth = 0;

  constructor(options: MarkedOptions) {
    super(options);
  }

  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[];
  override blockTokens(src: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList;
  override blockTokens(src: string, tokens: Token[] = [], lastParagraphClipped?: boolean): Token[] {
    if (this.#depth >= deepest) return plain(src, tokens);
    this.#depth++;
    try {
      return super.blockTokens(src, tokens, lastParagraphClipped);
    } finally {
      this.#depth--;
    }
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (this.#depth >= deepest || src.length > longestRun) return plain(src, tokens);
    this.#depth++;
    try {
      return super.inlineTokens(src, tokens);
    } finally {
      this.#depth--;
    }
  }
}

function plain(src: string, tokens: Token[]): Token[] {
  tokens.push({ type: "text", raw: src, text: src, escaped: false });
  return tokens;
}

/** Splits YAML front matter from the text. Returns its title and the rest. */
function splitFrontMatter(markdown: string): { title: string | undefined; rest: string } {
  const matter = /^---[ \t]*\r?\n([\s\S]{0,20000}?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(markdown.slice(0, 21_000));
  if (!matter) return { title: undefined, rest: markdown };
  // Two quantifiers that can match the same blanks would take a time that grows with their square.
  const named = (/^title:(.*)$/m.exec(matter[1]!)?.[1] ?? "").trim();
  const title = /^(["'])(.+)\1$/.exec(named)?.[2] ?? named;
  return {
    title: title === "" ? undefined : cut(title, limits.title),
    rest: markdown.slice(matter[0].length),
  };
}
