export type { EndSignal, Io, OutputStream } from "./io.js";
export { runCli } from "./run.js";
