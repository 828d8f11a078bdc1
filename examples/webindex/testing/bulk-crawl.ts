/** Random archives for tests of the bulk load. */
import { createHash } from "node:crypto";
import type { Source, SourceItem } from "../sources/index.js";
import { page, seeded } from "./site.js";

const day = 86_400_000;

function digestOf(body: Buffer): string {
  return `sha1:${createHash("sha1").update(body).digest("hex")}`;
}

/** An archive that yields these items. */
export function archiveOf(path: string, items: readonly SourceItem[]): Source {
  return {
    kind: "archive",
    path,
    scope: undefined,
    async *items() {
      yield* items;
    },
  };
}

/** Pages 0 to 9 never change, so that revisits of other pages can refer to them. */
const steadyPages = 10;
const pages = 25;
const words = ["ant", "bee", "cat", "dog"];

const urlOf = (number: number) => `https://example.org/${number}`;
const steadyBody = (number: number) => Buffer.from(page("Steady", words[number % 4]!));

/**
 * An archive of a small site. Archive 0 begins with all steady pages. Many pages are equal, some
 * pages are gone, and some occur several times. There are revisits of the same page and of steady
 * pages, with digests and without.
 */
export function randomArchive(seed: number, number: number, count: number): Source {
  const random = seeded(seed);
  const items = Array.from({ length: count }, (_, index): SourceItem => {
    const position = index + 1;
    const at = {
      file: "archive",
      offset: position,
      position,
      total: count,
      at: day * (position + 1_000 * number),
    };
    const plain = { ...at, kind: "page", contentType: "text/html", digest: undefined } as const;
    if (number === 0 && index < steadyPages) return { ...plain, url: urlOf(index), body: steadyBody(index) };
    const url = urlOf(steadyPages + random(pages - steadyPages));
    const kind = random(6);
    if (kind === 0) return { ...at, kind: "gone", url, status: 404 };
    if (kind < 3) {
      const steady = random(steadyPages);
      const refersTo = random(2) === 0 ? url : urlOf(steady);
      const digest = random(3) === 0 ? undefined : digestOf(steadyBody(steady));
      const refersToAt = random(2) === 0 ? undefined : day * (1 + random(count));
      return { ...at, kind: "unchanged", url, digest, refersTo, refersToAt };
    }
    const body =
      random(3) === 0
        ? steadyBody(random(4))
        : Buffer.from(page("Page", words[random(4)]!, { [urlOf(random(pages))]: words[random(4)]! }));
    const payloadDigests = random(4) === 0 ? [`sha1:${"A".repeat(31)}${random(9)}`] : undefined;
    return { ...plain, url, body, payloadDigests };
  });
  return archiveOf(`archive-${number}`, items);
}

/** An archive whose documents fill many batches of a bulk load. */
export function longArchive(pages: number): Source {
  const items = Array.from({ length: pages }, (_, index): SourceItem => {
    const link = `https://example.org/${(index * 7) % pages}`;
    const body = Buffer.from(
      page(`Page ${index}`, `word ${index} `, { [link]: "link" }).padEnd(100_000, "<!-- -->"),
    );
    const at = { file: "long", offset: index + 1, position: index + 1, total: pages, at: 0 };
    const url = `https://example.org/${index}`;
    return { ...at, kind: "page", url, contentType: "text/html", body, digest: undefined };
  });
  return archiveOf("long", items);
}
