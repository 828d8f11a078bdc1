/** Reads a page's title, text, links and terms. Pure functions of its bytes. */
export { bodyText } from "./body.js";
export { type Document, type Link, limits } from "./document.js";
export { extract, extractInParts } from "./extract.js";
export { type Parts, whole } from "./parts.js";
export { compatible, countTerms, fold, longestTerm, maxTerms, termCounts } from "./terms.js";
export { maxUrlBytes, normalizeUrl, urlFitsKey } from "./url.js";
export { isUnspaced } from "./words.js";
