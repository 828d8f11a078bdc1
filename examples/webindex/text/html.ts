import { Tokenizer, type TokenizerCallbacks } from "htmlparser2";
import { cut, wellFormed } from "./charset.js";
import { type Content, collapse, collapseRuns, type Link, limits } from "./document.js";
import { LinkResolver } from "./links.js";
import { type Parts, partLength } from "./parts.js";

/** Elements whose contents are not shown. */
export const unseen = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "iframe",
  "noembed",
  "noframes",
]);

/** Elements that do not separate words. Every other tag does. */
export const inline = new Set(
  (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp " +
    "small span strike strong sub sup time tt u var wbr"
  ).split(" "),
);

/** HTML elements that end an unclosed svg, as in browsers. */
const breakout = new Set("body div dl h1 h2 h3 h4 h5 h6 head img li ol p pre table ul".split(" "));

const attributesOf = new Map([
  ["a", "href"],
  ["area", "href"],
  ["base", "href"],
  ["img", "alt"],
]);

/** How many links one part of the computation resolves. */
const linksOfPart = 256;

/**
 * Reads title, text and links of an HTML page. Makes one pass over the tokens without a tree, so
 * the cost depends on the bytes only, not on depth or number of elements.
 */
export function* readHtml(html: string, url: string): Parts<Content> {
  const reader = new HtmlReader(html);
  const tokenizer = new Tokenizer({}, reader);
  for (let at = 0; at < html.length; at += partLength) {
    tokenizer.write(html.slice(at, at + partLength));
    reader.endPart();
    if (at + partLength < html.length) yield;
  }
  tokenizer.end();
  return yield* reader.content(url);
}

class HtmlReader implements TokenizerCallbacks {
  readonly #html: string;
  #tag = "";
  /** The attribute of `#tag` to collect, and its value so far. */
  #wanted: string | undefined;
  #reading = false;
  #value: string | undefined;
  /** The hidden element around the current position, and how many elements of its name are open. */
  #unseen = "";
  #unseenDepth = 0;
  #title: string | undefined;
  #inTitle = false;
  #heading: string | undefined;
  #inHeading = false;
  /** The text of this part of the page. */
  #text = "";
  /** Whether `#text` ends with a space. */
  #isSpaced = false;
  /** The text of the parts before, with white space collapsed. */
  readonly #parts: string[] = [];
  /** The length of all text, before white space is collapsed. */
  #length = 0;
  #truncatedText = false;
  #base: string | undefined;
  readonly #links: { href: string; text: string }[] = [];
  #anchor: { href: string; text: string } | undefined;
  #truncatedLinks = false;

  constructor(html: string) {
    this.#html = html;
  }

  /** Collapses the white space of this part, so that the whole page need not be collapsed at its end. */
  endPart(): void {
    const isAfterSpace = this.#parts.at(-1)?.endsWith(" ") ?? true;
    const part = collapseRuns(this.#text);
    const added = isAfterSpace && part.startsWith(" ") ? part.slice(1) : part;
    if (added !== "") this.#parts.push(added);
    this.#text = "";
  }

  *content(url: string): Parts<Content> {
    const resolver = new LinkResolver(url, this.#base);
    const links: Link[] = [];
    for (const [index, { href, text }] of this.#links.entries()) {
      const to = resolver.resolve(href);
      if (to !== undefined) links.push({ url: to, text: tidy(text, limits.anchor) });
      if (index % linksOfPart === linksOfPart - 1) yield;
    }
    this.endPart();
    const text = this.#parts.join("").trim();
    yield;
    return {
      title: tidy(this.#title ?? "", limits.title) || tidy(this.#heading ?? "", limits.title),
      text: wellFormed(cut(text, limits.text).trimEnd()),
      links,
      base: resolver.base,
      truncatedText: this.#truncatedText || text.length > limits.text,
      truncatedLinks: this.#truncatedLinks,
    };
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#html.slice(start, end).toLowerCase();
    this.#wanted = attributesOf.get(this.#tag);
    this.#value = undefined;
  }

  onattribname(start: number, end: number): void {
    // If several attributes have one name, the first counts.
    this.#reading =
      this.#wanted !== undefined && this.#value === undefined && this.#names(start, end, this.#wanted);
    if (this.#reading) this.#value = "";
  }

  onattribdata(start: number, end: number): void {
    if (this.#reading && this.#value!.length < limits.href) this.#value += this.#html.slice(start, end);
  }

  onattribentity(codepoint: number): void {
    if (this.#reading && this.#value!.length < limits.href) this.#value += String.fromCodePoint(codepoint);
  }

  onattribend(): void {
    this.#reading = false;
  }

  onopentagend(): void {
    const tag = this.#tag;
    if (this.#unseen !== "") {
      if (this.#unseen === tag) this.#unseenDepth++;
      if (this.#unseen !== "svg" || !breakout.has(tag)) return;
      this.#unseen = "";
    }
    if (unseen.has(tag)) {
      this.#unseen = tag;
      this.#unseenDepth = 1;
    } else {
      this.#open(tag);
    }
    if (!inline.has(tag)) this.#add(" ");
  }

  onselfclosingtag(): void {
    // A slash closes only an svg, or an element within one.
    if (this.#unseen === "svg") return;
    if (this.#unseen === "" && this.#tag === "svg") this.#add(" ");
    else this.onopentagend();
  }

  onclosetag(start: number, end: number): void {
    const tag = this.#html.slice(start, end).toLowerCase();
    if (this.#unseen !== "") {
      const leaves = tag === this.#unseen ? --this.#unseenDepth === 0 : tag === "body" || tag === "html";
      if (leaves) this.#unseen = "";
      return;
    }
    if (tag === "a") this.#anchor = undefined;
    else if (tag === "title") this.#inTitle = false;
    else if (tag === "h1") this.#inHeading = false;
    if (!inline.has(tag)) this.#add(" ");
  }

  ontext(start: number, end: number): void {
    if (this.#unseen === "") this.#add(this.#html.slice(start, end));
  }

  ontextentity(codepoint: number): void {
    if (this.#unseen === "") this.#add(String.fromCodePoint(codepoint));
  }

  isInForeignContext(): boolean {
    return this.#unseen === "svg";
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #open(tag: string): void {
    if (tag === "a" || tag === "area") this.#openAnchor(tag);
    else if (tag === "img") this.#addToAnchor(` ${this.#value ?? ""} `);
    else if (tag === "base") this.#base ??= this.#href;
    else if (tag === "title") this.#inTitle = this.#title === undefined;
    else if (tag === "h1") this.#inHeading = this.#heading === undefined;
    if (this.#inTitle) this.#title ??= "";
    if (this.#inHeading) this.#heading ??= "";
  }

  /** The value of the tag's attribute, unless it is too long for a link. */
  get #href(): string | undefined {
    return this.#value !== undefined && this.#value.length < limits.href ? this.#value : undefined;
  }

  #openAnchor(tag: string): void {
    this.#anchor = undefined;
    const href = this.#href;
    if (href === undefined) return;
    if (this.#links.length >= limits.links) {
      this.#truncatedLinks = true;
      return;
    }
    const link = { href, text: "" };
    this.#links.push(link);
    if (tag === "a") this.#anchor = link;
  }

  #add(text: string): void {
    if (this.#inTitle) {
      this.#title = grown(this.#title!, text, limits.title);
      return;
    }
    if (this.#inHeading) this.#heading = grown(this.#heading!, text, limits.title);
    this.#addToAnchor(text);
    // Tags that separate words mostly follow white space, or each other.
    if (text === " " && this.#isSpaced) return;
    this.#isSpaced = text.charCodeAt(text.length - 1) === 0x20;
    if (this.#length < limits.text * 2) {
      this.#text += text;
      this.#length += text.length;
    } else if (/\S/.test(text)) this.#truncatedText = true;
  }

  #addToAnchor(text: string): void {
    if (this.#anchor) this.#anchor.text = grown(this.#anchor.text, text, limits.anchor);
  }

  #names(start: number, end: number, name: string): boolean {
    return end - start === name.length && this.#html.slice(start, end).toLowerCase() === name;
  }
}

/** Adds to a text up to twice the limit, because white space is collapsed later. */
function grown(text: string, more: string, limit: number): string {
  return text.length < limit * 2 ? text + more.slice(0, limit * 2) : text;
}

function tidy(text: string, limit: number): string {
  return wellFormed(cut(collapse(text), limit).trimEnd());
}
