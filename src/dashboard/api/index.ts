/**
 * The JSON that the dashboard's server sends and its pages show. This folder has only types, so that
 * the server and the pages compile against one contract. Rows, columns and values are text in the
 * command line's format. A text key is unchanged, any other key is JSON, and a cell of a family is
 * `name:qualifier`. Timestamps are those of the database. Names that end in `Ms` are milliseconds,
 * names that end in `At` are milliseconds since 1970.
 */
export type * from "./about.js";
export type * from "./conflicts.js";
export type * from "./failures.js";
export type * from "./heat.js";
export type * from "./locks.js";
export type * from "./outcomes.js";
export type * from "./overview.js";
export type * from "./past.js";
export type * from "./pipeline.js";
export type * from "./rows.js";
export type * from "./shared.js";
export type * from "./transactions.js";
export type * from "./versions.js";
export type * from "./workers.js";
