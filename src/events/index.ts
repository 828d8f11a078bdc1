export { Emitter } from "./emitter.js";
export type { EventListener, EventMap, EventName } from "./events.js";
