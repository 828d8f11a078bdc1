import { namedPlace } from "../world/index.js";
import type { ExploredClient, WaitingRequest } from "./explored-client.js";
import type { Deed, Step } from "./step.js";
import type { ExploredWorld, LateRequest } from "./world.js";

/** How often a wait of one client may end early, while other steps are possible. */
const maxEarlyFires = 1;

/** Returns every possible next step, always in the same order. Steps without a fault come first. */
export function possibleSteps(world: ExploredWorld): readonly Step[] {
  const running = world.clients.filter((client) => !client.isOver);
  const steps: Step[] = [];
  for (const client of running) {
    for (const waiting of client.waiting.values()) {
      if (waiting.request.ready?.() ?? true) steps.push(requestStep(client, waiting, "apply"));
    }
  }
  steps.push(...timerSteps(world, steps.length === 0));
  if (steps.length === 0) {
    for (const client of running)
      for (const waiting of client.waiting.values()) steps.push(requestStep(client, waiting, "apply"));
  }
  for (const late of world.late.values()) steps.push(arriveStep(late));
  for (const client of world.clients) if (!client.isStopped) steps.push(...faultSteps(world, client));
  return steps;
}

/**
 * Returns the timers that may fire. A timer may fire if no other step is possible. In addition,
 * once per client, a timer may fire at any moment after the store has changed, so that a wait may
 * end early. Without this bound two clients that retry could block each other forever.
 */
function timerSteps(world: ExploredWorld, isStill: boolean): readonly Step[] {
  const timers = world.clients.flatMap((client) => {
    if (client.isStopped) return [];
    const waiting = [...client.environment.timers.values()].filter((timer) => !timer.isBackground);
    const next = waiting.sort((a, b) => a.due - b.due || a.number - b.number)[0];
    return next === undefined ? [] : [{ client, timer: next }];
  });
  if (timers.length === 0) return [];
  const { timePasses } = world.program;
  const first = Math.min(...timers.map(({ timer }) => timer.due));
  return timers
    .filter(({ client, timer }) => {
      if (isStill) return timer.due === first;
      if (timePasses !== undefined) return timer.due === first && world.timePassed < timePasses;
      return client.earlyFires < maxEarlyFires && client.changesAtFire !== world.digest.changes;
    })
    .map(({ client, timer }) => timerStep(client, timer.number, false));
}

function faultSteps(world: ExploredWorld, client: ExploredClient): readonly Step[] {
  const steps: Step[] = [];
  for (const waiting of client.waiting.values()) {
    for (const deed of faultyDeeds(world, waiting)) steps.push(requestStep(client, waiting, deed));
  }
  if (world.may("timers") && client.end === undefined) {
    for (const timer of client.environment.timers.values())
      if (timer.isBackground) steps.push(timerStep(client, timer.number, true));
  }
  if (world.may("stops") && client.waiting.size > 0) steps.push(stopStep(client));
  return steps;
}

function faultyDeeds(world: ExploredWorld, { request }: WaitingRequest): readonly Deed[] {
  const deeds: Deed[] = [];
  const { mayBeLate, mayRepeat, kind, otherAnswers } = request;
  if (world.may("lostAnswers") && (mayBeLate || kind === "timestamp")) deeds.push("lose-answer");
  if (world.may("lostAnswers") && mayBeLate) deeds.push("delay");
  if (world.may("repeats") && mayRepeat) deeds.push("repeat");
  if (world.may("wrongGuesses") && otherAnswers !== undefined) deeds.push("guess");
  return deeds;
}

function requestStep(client: ExploredClient, { number, group, request }: WaitingRequest, deed: Deed): Step {
  return {
    group,
    key: `${client.name}:${number}:${deed}`,
    client: client.name,
    number,
    deed,
    places: request.places,
    changes: request.changes,
    isFault: deed !== "apply",
    isOrdered: request.kind === "wait",
  };
}

/**
 * The arrival of a late request. It belongs to no client, so it does not depend on what any client
 * does.
 */
export function arriveStep({ key, client, waiting }: LateRequest): Step {
  const { number, request } = waiting;
  const { places, changes } = request;
  const step = { number, deed: "arrive", places, changes, isFault: false, isOrdered: false } as const;
  return { key: `${key}:arrive`, client: `${client}, late ${number}`, ...step };
}

function timerStep({ name }: ExploredClient, number: number, isFault: boolean): Step {
  const step = { number, deed: "fire", places: [], changes: true, isFault, isOrdered: true } as const;
  return { key: `${name}:timer ${number}`, client: name, ...step };
}

function stopStep({ name }: ExploredClient): Step {
  const places = [namedPlace(`life of ${name}`)];
  const step = { number: 0, deed: "stop", changes: true, isFault: true, isOrdered: false } as const;
  return { key: `${name}:stop`, client: name, places, ...step };
}
