export type { Way } from "./lane.js";
export { NetworkProxy } from "./network-proxy.js";
