import { namedPlace } from "../world/index.js";
import type { ExploredClient, WaitingRequest } from "./explored-client.js";
import type { Step, StepAction } from "./step.js";
import type { ExploredWorld, LateRequest } from "./world.js";

/** How many times a wait of one client may end early, while other steps are possible. */
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
 * Returns the timers that may fire. If no other step is possible, these are the timers that are due
 * first. While other steps are possible, the next timer of a client may fire early, so that a wait
 * may end at any moment. That may happen once in an execution for each client, and only if the store has
 * changed since the client's last timer fired. Without the limit of once, two clients that retry
 * could block each other forever. If the program sets `timePasses`, only the timers that are due first
 * may fire early instead, at most `timePasses` times in an execution.
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
    for (const action of faultyActions(world, waiting)) steps.push(requestStep(client, waiting, action));
  }
  if (world.may("timers") && client.end === undefined) {
    for (const timer of client.environment.timers.values())
      if (timer.isBackground) steps.push(timerStep(client, timer.number, true));
  }
  if (world.may("stops") && client.waiting.size > 0) steps.push(stopStep(client));
  return steps;
}

function faultyActions(world: ExploredWorld, { request }: WaitingRequest): readonly StepAction[] {
  const actions: StepAction[] = [];
  const { mayBeLate, mayRepeat, kind, otherAnswers } = request;
  if (world.may("lostAnswers") && (mayBeLate || kind === "timestamp")) actions.push("lose-answer");
  if (world.may("lostAnswers") && mayBeLate) actions.push("delay");
  if (world.may("repeats") && mayRepeat) actions.push("repeat");
  if (world.may("wrongGuesses") && otherAnswers !== undefined) actions.push("guess");
  return actions;
}

function requestStep(
  client: ExploredClient,
  { number, group, request }: WaitingRequest,
  action: StepAction,
): Step {
  return {
    group,
    key: `${client.name}:${number}:${action}`,
    client: client.name,
    number,
    action,
    places: request.places,
    changes: request.changes,
    isFault: action !== "apply",
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
  const step = { number, action: "arrive", places, changes, isFault: false, isOrdered: false } as const;
  return { key: `${key}:arrive`, client: `${client}, late ${number}`, ...step };
}

function timerStep({ name }: ExploredClient, number: number, isFault: boolean): Step {
  const step = { number, action: "fire", places: [], changes: true, isFault, isOrdered: true } as const;
  return { key: `${name}:timer ${number}`, client: name, ...step };
}

function stopStep({ name }: ExploredClient): Step {
  const places = [namedPlace(`life of ${name}`)];
  const step = { number: 0, action: "stop", changes: true, isFault: true, isOrdered: false } as const;
  return { key: `${name}:stop`, client: name, places, ...step };
}
