import type { MaybePromise } from "./row-store.js";

/** A page of something that is read in pages: where the next one begins; undefined on the last. */
export interface Page<N = unknown> {
  readonly next: N | undefined;
}

/**
 * Reads page after page, from `start` to the last. The caller has each page before the next is asked for, so bytes that
 * a store lends for one page must be used, or copied, before the loop goes on.
 *
 * @example
 * for await (const page of pages((start) => store.readRange({ table, start, columns, at }))) use(page.rows);
 */
export async function* pages<P extends Page>(
  read: (start: P["next"]) => MaybePromise<P>,
  start?: NoInfer<P["next"]>,
): AsyncGenerator<P, void, undefined> {
  let from: P["next"] = start;
  do {
    const page = await read(from);
    yield page;
    from = page.next;
  } while (from !== undefined);
}
