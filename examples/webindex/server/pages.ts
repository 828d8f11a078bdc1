import type { SearchAnswer, SearchResult } from "../search/search.js";
import type { SnippetPart } from "../search/snippet.js";
import { Html, html } from "./html.js";
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

/** The results of a search. */
export function resultsPage(
  query: string,
  answer: SearchAnswer,
  milliseconds: number,
  loading: Status["loading"],
): Html {
  const { results, terms, total } = answer;
  const shown = total > results.length ? ` The best ${results.length} of them:` : "";
  const content =
    results.length === 0
      ? emptyNote(query, terms)
      : html`<p class="note">${count(total, "page")} found in ${milliseconds.toFixed(0)} ms.${shown}</p>
<ol>${results.map(resultItem)}</ol>`;
  return frame({
    title: `${query} - Search`,
    content: html`${form(query)}${content}${loadingNote(loading)}`,
  });
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

function frame(page: { readonly title: string; readonly content: Html; readonly start?: boolean }): Html {
  const body = page.start ? new Html(' class="start"') : undefined;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title}</title>
<style>${new Html(style)}</style>
</head>
<body${body}>
<main>${page.content}</main>
</body>
</html>
`;
}

function form(query: string): Html {
  const focus = query === "" ? new Html(" autofocus") : undefined;
  return html`<form action="/search" role="search"><input type="search" name="q" value="${query}" aria-label="Words to search for" maxlength="500"${focus}><button>Search</button></form>`;
}

function resultItem(result: SearchResult): Html {
  const { url, title, snippet, rank, duplicates } = result;
  const same = duplicates === 0 ? "" : ` · ${count(duplicates, "duplicate")}`;
  return html`<li><h2><a href="${address(url)}">${title === "" ? url : title}</a></h2>
<p class="url">${url}</p>
<p class="snippet">${snippet.map(snippetPart)}</p>
<p class="more">${count(rank, "link")} to it${same} · <a href="${textAddress(url)}">text</a></p></li>
`;
}

function snippetPart({ text, match }: SnippetPart): Html {
  return match ? html`<mark>${text}</mark>` : html`${text}`;
}

function emptyNote(query: string, terms: readonly string[]): Html {
  if (query.trim() === "") return html`<p class="note">Type one word or several.</p>`;
  if (terms.length === 0) return html`<p class="note">There is no word in “${query}”.</p>`;
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
