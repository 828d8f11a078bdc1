/**
 * Reads a source again, independently of the loader, and checks that the stored pages agree with
 * it. It does not look at the loader's decisions. So it finds a page that the loader wrongly
 * considered unchanged.
 */
import { createHash } from "node:crypto";
import type { Snapshot } from "percolatordb";
import { packContents, unpackContents } from "../contents.js";
import { placeOf } from "../load/report.js";
import type { Source, SourceItem } from "../sources/index.js";
import { algorithmOf, hasDigest, normalDigest, parseDigest } from "../sources/warc/digest.js";
import { documents } from "../tables.js";
import { urlFitsKey } from "../text/index.js";
import { ExternalSort, type SortedRecord } from "./external-sort.js";
import { compareKeys } from "./order.js";

/** What a source says about one page. */
type Claim =
  /** The page has these contents. */
  | { readonly is: "page"; readonly hash: string; readonly digests: readonly string[] }
  /**
   * The page is unchanged. It has this digest. If the source names no digest, it has the contents
   * that were captured at the time `since`.
   */
  | { readonly is: "as before"; readonly digest?: string | undefined; readonly since?: number | undefined }
  | { readonly is: "gone" }
  /** The page exists but could not be read. */
  | { readonly is: "unread" };

interface Placed {
  readonly at: string;
  readonly claim: Claim;
}

const between = "\x01";

/** The claims of one source, compared with pages in URL order. */
export class SourceClaims implements Disposable {
  readonly #sort: ExternalSort;
  readonly #scope: string | undefined;
  readonly #unread: string[] = [];
  #next: Iterator<readonly [url: string, claim: Placed]> | undefined;
  #head: IteratorResult<readonly [url: string, claim: Placed]> | undefined;

  private constructor(scope: string | undefined, heldBytes: number | undefined) {
    this.#scope = scope;
    this.#sort = new ExternalSort(heldBytes);
  }

  /** Reads a source completely. */
  static async read(source: Source, heldBytes?: number, signal?: AbortSignal): Promise<SourceClaims> {
    const claims = new SourceClaims(source.scope, heldBytes);
    let number = 0;
    for await (const item of source.items(signal)) claims.#add(item, number++);
    return claims;
  }

  #add(item: SourceItem, number: number): void {
    const claim = claimOf(item, this.#scope !== undefined);
    if (claim === undefined || item.url === undefined || !urlFitsKey(item.url)) return;
    if (claim.is === "unread" && item.url.endsWith("/")) this.#unread.push(item.url);
    // The last claim about a page counts.
    const key = item.url + between + String(number).padStart(15, "0");
    this.#sort.add(key, JSON.stringify({ at: placeOf(item), claim }));
  }

  /**
   * Returns what is wrong with the page at `url`, or `undefined` if nothing is. Returns `false` if
   * the source says nothing about the page. Pages must come in URL order. Calls `missing` for
   * claimed pages before `url` that are not stored.
   */
  async judge(
    snapshot: Pick<Snapshot, "get">,
    url: string,
    contents: Uint8Array,
    missing: (url: string, difference: string | undefined) => void,
  ): Promise<string | undefined | false> {
    this.#passTo(url, missing);
    if (!this.#head!.done && this.#head!.value[0] === url) {
      const { at, claim } = this.#head!.value[1];
      this.#head = this.#next!.next();
      const [digests, captures] = await Promise.all([
        snapshot.get(documents.digests, url),
        snapshot.get(documents.captures, url),
      ]);
      const wrong = disagreement(claim, contents, digests, captures);
      return wrong === undefined ? undefined : `${url}: ${wrong} (${at})`;
    }
    const scope = this.#scope;
    if (scope === undefined || !url.startsWith(scope)) return false;
    return this.#unread.some((folder) => url.startsWith(folder))
      ? undefined
      : `${url}: stored, but the source no longer has it`;
  }

  /** Checks the claims about pages after the last stored one. */
  end(missing: (url: string, difference: string | undefined) => void): void {
    this.#passTo(undefined, missing);
  }

  [Symbol.dispose](): void {
    this.#sort[Symbol.dispose]();
  }

  #passTo(url: string | undefined, missing: (url: string, difference: string | undefined) => void): void {
    this.#next ??= lastOfEach(this.#sort.records());
    this.#head ??= this.#next.next();
    for (; !this.#head.done; this.#head = this.#next.next()) {
      const [claimed, { at, claim }] = this.#head.value;
      if (url !== undefined && compareKeys(claimed, url) >= 0) return;
      const isRight = claim.is === "gone" || claim.is === "unread";
      missing(claimed, isRight ? undefined : `${claimed}: not stored, but the source has it (${at})`);
    }
  }
}

function* lastOfEach(records: Iterable<SortedRecord>): Generator<readonly [string, Placed], void> {
  let last: readonly [string, string] | undefined;
  for (const { key, value } of records) {
    const url = key.slice(0, key.indexOf(between));
    if (last !== undefined && last[0] !== url) yield [last[0], JSON.parse(last[1]) as Placed];
    last = [url, value];
  }
  if (last !== undefined) yield [last[0], JSON.parse(last[1]) as Placed];
}

/** `isComplete`: the source lists every page, so a listed page exists even if it is not indexed. */
function claimOf(item: SourceItem, isComplete: boolean): Claim | undefined {
  switch (item.kind) {
    case "page":
      return { is: "page", hash: hashOf(packContents(item)), digests: item.payloadDigests ?? [] };
    case "unchanged":
      return { is: "as before", digest: item.digest, since: item.refersToAt };
    case "gone":
      return { is: "gone" };
    default:
      return isComplete ? { is: "unread" } : undefined;
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

/** Returns how a claim and a stored page disagree. */
function disagreement(
  claim: Claim,
  contents: Uint8Array,
  stored: string | undefined,
  captures: string | undefined,
): string | undefined {
  const digests = stored?.split(" ") ?? [];
  switch (claim.is) {
    case "gone":
      return "stored, but gone in the source";
    case "unread":
      return undefined;
    case "page":
      if (hashOf(contents) !== claim.hash) return "stored with other contents than the source has";
      return claim.digests.every((digest) => digests.includes(digest))
        ? undefined
        : "stored without the digests of the source";
    case "as before": {
      const wanted = normalDigest(claim.digest);
      if (wanted === undefined) return otherRecord(claim.since, captures);
      if (digests.includes(wanted)) return undefined;
      const digest = parseDigest(claim.digest);
      if (digest !== undefined && hasDigest(digest, unpackContents(contents).body)) return undefined;
      const isKnown = digest !== undefined && digests.length === 0;
      if (!isKnown && !digests.some((each) => each.startsWith(algorithmOf(wanted))))
        return otherRecord(claim.since, captures);
      return `stored with other contents than the source says, which have the digest ${claim.digest}`;
    }
  }
}

/**
 * For a page without a comparable digest: checks whether it comes from the record that the source
 * names.
 */
function otherRecord(since: number | undefined, captures: string | undefined): string | undefined {
  if (since === undefined || captures === undefined) return undefined;
  if (captures.split(" ").some((each) => Number(each) === Math.floor(since / 1_000))) return undefined;
  return `stored from another record than the source names, which is of ${new Date(since).toISOString()}`;
}
