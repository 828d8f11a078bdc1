/** What a page says: its title, text, links and terms. Pure functions of its bytes. */
export { type Document, type Link, limits } from "./document.js";
export { extract } from "./extract.js";
export { hasMoreTerms, longestTerm, mostTerms, termCounts } from "./terms.js";
export { longestUrlBytes, normalizeUrl, urlFitsKey } from "./url.js";
