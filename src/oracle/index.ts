export { counterOracle } from "./counter.js";
export type { Oracle } from "./oracle.js";
