import { createHash } from "node:crypto";
import { packContents, sameContents, unpackContents } from "../contents.js";
import type { Gone, Page, Source, SourceItem, Unchanged } from "../sources/index.js";
import { urlFitsKey } from "../text/index.js";
import { ExternalSort } from "../twin/external-sort.js";
import type { Loadable } from "./batches.js";
import { LoadCounts } from "./report.js";
import { addCapture, captureOf, compareRevisit, joinDigests, type Stored } from "./revisit.js";

/** A page as the sources leave it. */
export interface FoldedPage extends Stored {
  readonly url: string;
}

const between = "\x01";

interface KeptPage {
  readonly kind: "page";
  readonly contents: string;
  readonly digests: readonly string[] | undefined;
  /** 0 if the source is not an archive. */
  readonly at: number;
}

/** An item of a source, as the sort stores it. */
type Kept =
  | KeptPage
  | { readonly kind: "gone"; readonly item: Gone }
  | { readonly kind: "unchanged"; readonly item: Unchanged };

/**
 * Reads sources into the pages that they leave, without a database: it sorts all items by URL, and
 * applies the items of each URL in order, as the loader does. The sort spills to files, so memory
 * does not grow with the sources.
 *
 * A revisit that does not name the contents of its own page may depend on another page. It is left
 * over, with all later items of its URL. The loader must load these when the pages are stored.
 */
export class Fold implements Disposable {
  readonly counts: LoadCounts;
  readonly #items: ExternalSort;
  readonly #left: ExternalSort;
  readonly #digest = createHash("sha256");
  #number = 0;
  #isCounted = false;

  constructor(path: string, heldBytes?: number) {
    this.counts = new LoadCounts(path);
    this.#items = new ExternalSort(heldBytes);
    this.#left = new ExternalSort(heldBytes);
  }

  /** A digest of the items. It shows a continued load whether they are the same as before. */
  get digest(): string {
    return this.#digest.copy().digest("hex").slice(0, 16);
  }

  async add(source: Source, signal: AbortSignal | undefined, onItem: (item: SourceItem) => void) {
    for await (const item of source.items(signal)) {
      signal?.throwIfAborted();
      this.#take(item, source.kind === "archive");
      onItem(item);
    }
  }

  #take(item: SourceItem, isArchive: boolean): void {
    const { counts } = this;
    if (item.kind === "problem") {
      counts.problem(item.what, item, item.message, item.url);
      return;
    }
    if (item.kind === "skipped") {
      counts.skip(item);
      return;
    }
    if (item.kind !== "gone") counts.pages++;
    if (!urlFitsKey(item.url)) {
      const shown = `${item.url.slice(0, 100)}...`;
      counts.problem("too long", item, "The URL is too long to be indexed", shown);
      return;
    }
    const key = item.url + between + numberText(this.#number++);
    const value = JSON.stringify(keep(item, isArchive));
    this.#digest.update(key).update(value);
    this.#items.add(key, value);
  }

  /**
   * The pages in URL order. The first complete reading also counts the items, and finds those that
   * are left over.
   */
  *pages(): Generator<FoldedPage, void> {
    const isCounting = !this.#isCounted;
    let url: string | undefined;
    let state: Stored | undefined;
    let hasLeft = false;
    for (const { key, value } of this.#items.records()) {
      const [of, number] = key.split(between) as [string, string];
      if (of !== url) {
        if (url !== undefined && state !== undefined) yield { url, ...state };
        url = of;
        state = undefined;
        hasLeft = false;
      }
      const kept = JSON.parse(value) as Kept;
      const next = hasLeft ? undefined : fold(kept, state);
      if (next === undefined) {
        hasLeft = true;
        if (isCounting) this.#left.add(number, JSON.stringify({ url: of, ...kept }));
      } else {
        if (isCounting) this.#count(kept, state, next.state);
        state = next.state;
      }
    }
    this.#isCounted = true;
    if (url !== undefined && state !== undefined) yield { url, ...state };
  }

  /** The items that are left over, in the order of the sources. Read {@link pages} first. */
  *leftOver(): Generator<Loadable, void> {
    for (const { value } of this.#left.records()) {
      const kept = JSON.parse(value) as Kept & { readonly url: string };
      yield kept.kind === "page" ? pageOf(kept.url, kept) : kept.item;
    }
  }

  [Symbol.dispose](): void {
    this.#items[Symbol.dispose]();
    this.#left[Symbol.dispose]();
  }

  #count(kept: Kept, before: Stored | undefined, after: Stored | undefined): void {
    const { counts } = this;
    if (kept.kind === "gone") {
      if (before !== undefined) counts.deleted++;
      else counts.skip({ ...kept.item, reason: `HTTP status ${kept.item.status}` });
    } else if (before === undefined) counts.added++;
    else if (sameContents(before.contents, after!.contents)) counts.unchanged++;
    else counts.changed++;
  }
}

/** The page after an item. Undefined if the item must be left over. */
function fold(kept: Kept, before: Stored | undefined): { readonly state: Stored | undefined } | undefined {
  if (kept.kind === "gone") return { state: undefined };
  if (kept.kind === "page") return { state: loaded(kept, before) };
  if (before === undefined || compareRevisit(kept.item, before) !== "same") return undefined;
  return { state: { ...before, captures: addCapture(before.captures, kept.item.at) } };
}

/** A page that is left over, as its source yielded it. */
function pageOf(url: string, { contents, digests, at }: KeptPage): Page {
  const place = { file: "", offset: 0, position: 0, total: 0 };
  const unpacked = unpackContents(Buffer.from(contents, "base64"));
  return { ...place, kind: "page", url, ...unpacked, digest: undefined, payloadDigests: digests, at };
}

function numberText(number: number): string {
  return String(number).padStart(15, "0");
}

function keep(item: Loadable, isArchive: boolean): Kept {
  if (item.kind === "gone") return { kind: "gone", item };
  if (item.kind === "unchanged") return { kind: "unchanged", item };
  const contents = Buffer.from(packContents(item)).toString("base64");
  return { kind: "page", contents, digests: item.payloadDigests, at: isArchive ? item.at : 0 };
}

/** The stored page after the loader has stored this version over the earlier one. */
function loaded(
  { contents: text, digests, at }: Kept & { kind: "page" },
  before: Stored | undefined,
): Stored {
  const contents = Buffer.from(text, "base64");
  const isSame = before !== undefined && sameContents(before.contents, contents);
  return {
    contents,
    digests: joinDigests(digests, isSame ? before.digests : undefined),
    captures: isSame ? addCapture(before.captures, at) : at === 0 ? undefined : captureOf(at),
  };
}
