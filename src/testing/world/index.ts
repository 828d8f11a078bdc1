export {
  counterPlace,
  DistantStore,
  type DistantStoreOptions,
  keepPage,
  timestampRequest,
} from "./distant-store.js";
export { type Hash, HashSum, hashText } from "./hash.js";
export { namedPlace, overlap, type Place, rangePlace, rowPlace } from "./place.js";
export { SeededRandom } from "./random.js";
export type { Network, Request, RequestKind } from "./request.js";
export { digestPage } from "./show.js";
export { ChangeOrder, type StoreWatcher, WatchedStore } from "./watched-store.js";
