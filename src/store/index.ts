export * from "./cell.js";
export * from "./mutation.js";
export * from "./row-store.js";
