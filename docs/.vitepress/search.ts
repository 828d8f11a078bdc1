/** How the site's search ranks pages, in addition to VitePress' own options. */
export const searchOptions = {
  /** Words of a query, as MiniSearch divides them. `tx.set` and `db.transact` are about `set` and `transact`: `tx` and `db` are everywhere. */
  tokenize: (query: string): string[] => query.replace(/\b(db|tx)\.(?=\w)/g, "").split(/[\n\r\p{Z}\p{P}]+/u),
  /**
   * Pages that say how to do something come first, then pages that name everything, and at last the API's pages and those about how the
   * project is made. VitePress sends the text of this function to the browser, so it may use nothing from outside itself.
   */
  boostDocument: (id: string, term: string, fields?: { readonly title?: unknown }): number => {
    // A method's own name, such as `transact`.
    const isMain = /\/api\/percolatordb\/(classes\/Database|interfaces\/(Snapshot|Transaction))\b/.test(id);
    if (isMain && String(fields?.title).toLowerCase() === `${term}()`) return 0.7;
    if (/\/(api|decisions|proof|protocol)/.test(id)) return 0.2;
    return /\/(comparison|glossary|options|errors|limits|command-line)\b/.test(id) ? 0.4 : 1;
  },
};
