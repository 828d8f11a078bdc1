/** The script of a page of results, for browsers: it keeps the results up to date. */
import { type LiveState, type LiveSubscription, type LiveValue, live } from "percolatordb/live/client";
import type { ShownResults } from "./live-search.js";

/** What this script uses of a browser, because the examples are compiled for Node. */
interface PageElement {
  innerHTML: string;
  textContent: string | null;
  readonly childNodes: Iterable<unknown>;
  cloneNode(): PageElement;
  isEqualNode(other: PageElement): boolean;
  replaceChildren(...children: unknown[]): void;
  querySelector(selector: string): { focus(options: { preventScroll: boolean }): void } | null;
}
declare const document: {
  readonly visibilityState: "visible" | "hidden";
  readonly activeElement: { getAttribute(name: string): string | null } | null;
  getElementById(id: string): PageElement | null;
  addEventListener(type: "visibilitychange", listener: () => void): void;
};
declare const location: { readonly search: string };
declare const CSS: { escape(text: string): string };

const found = document.getElementById("found")!;
const note = document.getElementById("state")!;
let subscription: LiveSubscription<LiveValue<ShownResults>> | undefined;
let shownAt = "";

function show({ value, timestamp }: LiveValue<ShownResults>): void {
  shownAt = ` of ${new Date(timestamp / 1_000).toLocaleTimeString()}`;
  const next = found.cloneNode();
  // The server has made it as it makes the page, with all text escaped.
  next.innerHTML = value.html;
  if (found.isEqualNode(next)) return;
  const focused = document.activeElement?.getAttribute("href");
  found.replaceChildren(...next.childNodes);
  if (typeof focused === "string")
    found.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function tell(state: LiveState): void {
  if (state === "open") note.textContent = "Live: new and changed pages appear here by themselves.";
  if (state === "waiting")
    note.textContent = `Not live: the connection is lost. These are the results${shownAt}. Trying again.`;
  if (state === "closed") note.textContent = "Not live any more. Reload the page for new results.";
}

/** A page that nobody sees needs no connection, of which a browser has six for all pages of a server. */
function follow(): void {
  if (document.visibilityState === "hidden") {
    const last = subscription;
    subscription = undefined;
    last?.close();
  } else {
    subscription ??= live<ShownResults>(`/api/search/live${location.search}`, {
      onValue: show,
      onState: (state) => {
        if (subscription !== undefined) tell(state);
      },
    });
  }
}

document.addEventListener("visibilitychange", follow);
follow();
