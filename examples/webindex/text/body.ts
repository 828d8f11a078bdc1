import { Tokenizer, type TokenizerCallbacks } from "htmlparser2";
import { decodeText, wellFormed } from "./charset.js";
import { collapse, limits } from "./document.js";
import { extract } from "./extract.js";
import { inline, unseen } from "./html.js";
import { mediaOf } from "./media.js";

/** Elements and ARIA roles around the contents of a page: menus, headers, forms. */
const furniture = new Set(
  (
    "aside banner button complementary contentinfo dialog footer form header menu menubar nav navigation search select " +
    "toolbar"
  ).split(" "),
);
const main = new Set(["article", "main"]);
/** A shorter part of a page is not taken for its contents. */
const leastText = 100;

/**
 * Returns the text of a page without its navigation: that of its main element if it has one,
 * otherwise what is outside of menus, headers and footers. If little is left, returns all of the
 * text. Never throws.
 */
export function bodyText(body: Uint8Array, contentType: string, url: string): string {
  if (mediaOf(contentType) !== "html") return extract(body, contentType, url).text;
  const reader = new BodyReader(decodeText(body, contentType).text);
  return wellFormed(reader.read());
}

/** An element whose text counts differently, and how many elements of its name are open. */
interface Open {
  tag: string;
  depth: number;
}

class BodyReader implements TokenizerCallbacks {
  readonly #html: string;
  #tag = "";
  #role = "";
  #readsRole = false;
  readonly #unseen: Open = { tag: "", depth: 0 };
  readonly #furniture: Open = { tag: "", depth: 0 };
  readonly #main: Open = { tag: "", depth: 0 };
  #inTitle = false;
  #all = "";
  #outside = "";
  #inside = "";

  constructor(html: string) {
    this.#html = html;
  }

  read(): string {
    const tokenizer = new Tokenizer({}, this);
    tokenizer.write(this.#html);
    tokenizer.end();
    for (const text of [this.#inside, this.#outside]) {
      const collapsed = collapse(text);
      if (collapsed.length >= leastText) return collapsed;
    }
    return collapse(this.#all);
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#html.slice(start, end).toLowerCase();
    this.#role = "";
  }

  onattribname(start: number, end: number): void {
    this.#readsRole = end - start === 4 && this.#html.slice(start, end).toLowerCase() === "role";
  }

  onattribdata(start: number, end: number): void {
    if (this.#readsRole && this.#role === "") this.#role = this.#html.slice(start, end).trim().toLowerCase();
  }

  onopentagend(): void {
    const tag = this.#tag;
    for (const open of [this.#unseen, this.#furniture, this.#main]) if (open.tag === tag) open.depth++;
    if (this.#unseen.tag === "" && unseen.has(tag)) enter(this.#unseen, tag);
    const isMain = main.has(tag) || this.#role === "main";
    if (isMain && this.#main.tag === "") enter(this.#main, tag);
    const isFurniture = furniture.has(this.#role) || furniture.has(tag);
    // The header of an article has its title.
    const ofArticle = this.#main.tag !== "" && (tag === "header" || tag === "footer");
    if (isFurniture && !ofArticle && this.#furniture.tag === "") enter(this.#furniture, tag);
    if (tag === "title") this.#inTitle = true;
    if (!inline.has(tag)) this.#add(" ");
  }

  onselfclosingtag(): void {
    // A slash closes an svg, but no element of HTML.
    if (this.#tag !== "svg") this.onopentagend();
  }

  onclosetag(start: number, end: number): void {
    const tag = this.#html.slice(start, end).toLowerCase();
    for (const open of [this.#unseen, this.#furniture, this.#main]) {
      if (open.tag !== "" && (open.tag === tag ? --open.depth === 0 : tag === "body")) open.tag = "";
    }
    if (tag === "title") this.#inTitle = false;
    if (!inline.has(tag)) this.#add(" ");
  }

  ontext(start: number, end: number): void {
    this.#add(this.#html.slice(start, end));
  }

  ontextentity(codepoint: number): void {
    this.#add(String.fromCodePoint(codepoint));
  }

  isInForeignContext(): boolean {
    return false;
  }

  onattribentity(): void {}
  onattribend(): void {}
  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #add(text: string): void {
    if (this.#unseen.tag !== "" || this.#inTitle || this.#all.length >= limits.text) return;
    this.#all += text;
    if (this.#furniture.tag !== "") return;
    if (this.#main.tag !== "") this.#inside += text;
    else this.#outside += text;
  }
}

function enter(open: Open, tag: string): void {
  open.tag = tag;
  open.depth = 1;
}
