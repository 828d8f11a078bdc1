import type { PageScript } from "../../support/page-script.js";
import type { SearchAnswer, SearchResult } from "../search/search.js";
import type { SnippetPart } from "../search/snippet.js";
import { Html, html } from "./html.js";
import { maxOffset } from "./question.js";
import type { Status } from "./status.js";
import { style } from "./style.js";

/** The start page. */
export function startPage({ pages, loading }: Pick<Status, "pages" | "loading">): Html {
  return frame({
    title: "Search",
    start: true,
    content: html`<h1>Search ${count(pages, "page")}</h1>${form("")}${loadingNote(loading)}<p class="note"><a href="/dashboard/">Dashboard</a></p>`,
  });
}

/** A search and its answer. */
export interface Answered {
  readonly query: string;
  readonly answer: SearchAnswer;
  /** How many results were left out at the beginning, and the most results on a page. */
  readonly offset: number;
  readonly limit: number;
}

/** The results of a search. With a script, the page keeps itself up to date. */
export function resultsPage(
  answered: Answered & { readonly milliseconds: number },
  loading: Status["loading"],
  script: PageScript | undefined,
): Html {
  const { query, milliseconds } = answered;
  const still = loading === undefined ? "" : ` Still loading: ${loading}`;
  // The script replaces the note by whether the page is live.
  const note = `Searched in ${milliseconds.toFixed(0)} ms.${still}`;
  return frame({
    title: `${query} - Search`,
    content: html`${form(query)}<div id="found">${foundPart(answered)}</div>
<p class="note" id="state" role="status">${note}</p>`,
    script,
  });
}

/** The part of a page of results that changes when the index does. It depends on nothing else. */
export function foundPart(answered: Answered): Html {
  const { answer, offset } = answered;
  const { results, total } = answer;
  const first = offset + 1;
  const shown = total > results.length ? ` The ${order(first, offset + results.length)} best of them:` : "";
  const content =
    results.length === 0
      ? emptyNote(answered)
      : html`<p class="note">${count(total, "page")} found.${shown}</p>
<ol start="${first}">${results.map(resultItem)}</ol>`;
  return html`${suggestionNote(answer)}${content}${pagesNote(answered)}`;
}

function order(first: number, last: number): string {
  return first === 1 ? `${last}` : `${first}. to ${last}.`;
}

function suggestionNote({ suggestion }: SearchAnswer): Html | undefined {
  if (suggestion === undefined) return undefined;
  return html`<p class="note">Did you mean <a href="${searchAddress(suggestion, 0)}">${suggestion}</a>?</p>`;
}

/** Links to the page of results before this one and after it. */
function pagesNote({ query, answer, offset, limit }: Answered): Html | undefined {
  const before = offset > 0 ? pageLink(query, Math.max(0, offset - limit), "Previous") : undefined;
  const hasNext = answer.next !== undefined && offset + limit <= maxOffset;
  const after = hasNext ? pageLink(query, offset + limit, "Next") : undefined;
  if (before === undefined && after === undefined) return undefined;
  return html`<p class="note">${before}${before && after ? " · " : ""}${after}</p>`;
}

function pageLink(query: string, offset: number, name: string): Html {
  return html`<a href="${searchAddress(query, offset)}">${name}</a>`;
}

function searchAddress(query: string, offset: number): string {
  return `/search?q=${encodeURIComponent(query)}${offset === 0 ? "" : `&offset=${offset}`}`;
}

/** The text of one page as it is stored, for pages that a browser cannot open. */
export function textPage(url: string, title: string, text: string): Html {
  const content = html`${form("")}<h1 class="text">${title === "" ? url : title}</h1>
<p class="url">${link(url)}</p><p class="text">${text}</p>`;
  return frame({ title: title === "" ? url : title, content });
}

/** A page for an error, or for an unknown address. */
export function messagePage(title: string, message: string): Html {
  return frame({
    title,
    content: html`<h1>${title}</h1><p>${message}</p><p><a href="/">Search</a></p>`,
  });
}

function frame(page: {
  readonly title: string;
  readonly content: Html;
  readonly start?: boolean;
  readonly script?: PageScript | undefined;
}): Html {
  const script = page.script && html`<script type="module">${new Html(page.script.source)}</script>\n`;
  const body = page.start ? new Html(' class="start"') : undefined;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title}</title>
<link rel="icon" href="/dashboard/icon.svg" type="image/svg+xml">
<style>${new Html(style)}</style>
</head>
<body${body}>
<main>${page.content}</main>
${script}</body>
</html>
`;
}

function form(query: string): Html {
  const focus = query === "" ? new Html(" autofocus") : undefined;
  return html`<form action="/search" role="search"><input type="search" name="q" value="${query}" aria-label="Words to search for" maxlength="500"${focus}><button>Search</button></form>`;
}

function resultItem(result: SearchResult): Html {
  const { url, title, snippet, rank, duplicates, versions } = result;
  const same = duplicates === 0 ? "" : ` · ${count(duplicates, "duplicate")}`;
  return html`<li><h2><a href="${address(url)}">${title === "" ? url : title}</a></h2>
<p class="url">${url}</p>
<p class="snippet">${snippet.map(snippetPart)}</p>
<p class="more">${count(rank, "link")} to it${same} · <a href="${textAddress(url)}">text</a></p>${versionsNote(versions)}</li>
`;
}

function versionsNote(versions: readonly string[]): Html | undefined {
  if (versions.length === 0) return undefined;
  const links = versions.map((url, at) => html`${at === 0 ? "" : ", "}<a href="${address(url)}">${url}</a>`);
  return html`<p class="more">Other versions: ${links}</p>`;
}

function snippetPart({ text, match }: SnippetPart): Html {
  return match ? html`<mark>${text}</mark>` : html`${text}`;
}

function emptyNote({ query, answer: { terms, total }, offset }: Answered): Html {
  if (query.trim() === "") return html`<p class="note">Type one word or several.</p>`;
  if (terms.length === 0) return html`<p class="note">There is no word in “${query}”.</p>`;
  if (total > 0 && offset > 0) return html`<p class="note">There are no further results.</p>`;
  return html`<p class="note">Nothing was found for “${query}”.</p>`;
}

function loadingNote(loading: Status["loading"]): Html | undefined {
  if (loading === undefined) return undefined;
  return html`<p class="note">Still loading: ${loading}</p>`;
}

/** Links to the page itself only if a browser can open it. */
function address(url: string): string {
  return isWeb(url) ? url : textAddress(url);
}

function textAddress(url: string): string {
  return `/page?url=${encodeURIComponent(url)}`;
}

function link(url: string): Html {
  return isWeb(url) ? html`<a href="${url}">${url}</a>` : html`${url}`;
}

function isWeb(url: string): boolean {
  return /^https?:\/\//.test(url);
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
