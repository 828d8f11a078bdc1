import { bytes, table } from "percolatordb";

/** Documents by path. */
export const documents = table("documents", {
  /** UTF-8. */
  markdown: bytes(),
  /** Rendered from `markdown`, UTF-8. */
  html: bytes(),
});

export const tables = [documents];
