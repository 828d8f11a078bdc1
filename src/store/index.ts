export { byteString, equalBytes } from "./bytes.js";
export * from "./cell.js";
export { storeLimits } from "./check.js";
export * from "./lending.js";
export * from "./mutation.js";
export * from "./row-store.js";
