export type { EndSignal, Io, OutputStream } from "./print/io.js";
export { runCli } from "./run.js";
