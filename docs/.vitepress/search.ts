/** How the site's search ranks pages, in addition to VitePress' own options. */
export const searchOptions = {
  /**
   * Pages that say how to do something come first, then pages that name everything, and at last the API's pages and those about how the
   * project is made. VitePress sends the text of this function to the browser, so it may use nothing from outside itself.
   */
  boostDocument: (id: string): number => {
    if (/\/(api|decisions|proof|protocol)/.test(id)) return 0.2;
    return /\/(comparison|glossary|options|errors|limits|command-line)\b/.test(id) ? 0.4 : 1;
  },
};
