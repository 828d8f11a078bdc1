export { abortError, throwIfAborted, underSignals, unlessAborted } from "./abort.js";
export { type Backoff, backoffDelay } from "./backoff.js";
export type { Environment, Timer } from "./environment.js";
export { packageManifest } from "./manifest.js";
export { onAbort } from "./on-abort.js";
export { OneAtATime } from "./one-at-a-time.js";
export { SingleFlight } from "./single-flight.js";
export { eventLoopTurn, sleep } from "./sleep.js";
export { systemEnvironment } from "./system.js";
