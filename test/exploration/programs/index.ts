export * from "./collection.js";
export * from "./counters.js";
export * from "./observers.js";
export * from "./oracle.js";
export * from "./registration.js";
export * from "./serializable.js";
export * from "./transfers.js";
export * from "./wire.js";
