export { type LmdbStoreOptions, openLmdbStore } from "./store.js";
