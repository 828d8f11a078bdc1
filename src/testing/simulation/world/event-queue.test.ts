import { expect, test } from "vitest";
import { SeededRandom } from "../../world/index.js";
import { EventQueue, type SimulatedEvent } from "./event-queue.js";

function event(at: number, order: number): SimulatedEvent {
  return { at, order, kind: "other", machine: undefined, happen: () => undefined, isCancelled: false };
}

test("events are taken in the order of time, and at the same time in the order of planning", () => {
  const random = new SeededRandom("queue");
  const queue = new EventQueue();
  const standing: SimulatedEvent[] = [];
  const compare = (a: SimulatedEvent, b: SimulatedEvent) => a.at - b.at || a.order - b.order;
  for (let order = 1; order <= 2_000; order++) {
    if (random.chance(0.6)) {
      const planned = event(random.below(50), order);
      queue.push(planned);
      standing.push(planned);
    } else {
      standing.sort(compare);
      expect(queue.pop()).toBe(standing.shift());
    }
    expect(queue.size).toBe(standing.length);
  }
  standing.sort(compare);
  for (const next of standing) expect(queue.pop()).toBe(next);
  expect(queue.pop()).toBeUndefined();
});
