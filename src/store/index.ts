export {
  asBuffer,
  byteString,
  compareBytes,
  equalBytes,
  readTimestamp,
  successor,
  writeTimestamp,
} from "./bytes.js";
export * from "./cell.js";
export * from "./cell-block.js";
export { storeLimits } from "./check.js";
export * from "./fill.js";
export * from "./make-folders.js";
export * from "./mutation.js";
export * from "./page-set.js";
export * from "./page-store.js";
export { type Page, pages } from "./pages.js";
export * from "./row-store.js";
export * from "./zero-copy.js";
