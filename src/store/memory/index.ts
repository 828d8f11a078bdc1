export { copyMemoryStore, type MemoryStoreOptions, memoryStore } from "./store.js";
