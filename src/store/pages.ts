import type { MaybePromise } from "./row-store.js";

/**
 * A page of data that is read in pages. `next` is where the next page begins. Undefined on the last
 * page.
 */
export interface Page<N = unknown> {
  readonly next: N | undefined;
}

/**
 * Reads page after page, from `start` to the last. The caller gets each page before the next one is
 * read. If a store's bytes are valid only until the next read, use or copy them inside the loop.
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
