export { type StoreConformanceOptions, storeConformance, type TestRunner } from "./store-conformance.js";
