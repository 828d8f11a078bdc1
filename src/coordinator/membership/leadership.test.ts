import { expect, test } from "vitest";
import { TestMachine, TestWorld } from "../../../test/support/oracle/world.js";
import { Leadership } from "./leadership.js";

function stand(world: TestWorld, name: string) {
  const machine = new TestMachine(world);
  const leadership = new Leadership({ store: machine.store, environment: machine, name, leaseMs: 10_000 });
  leadership.start();
  return { machine, leadership };
}

const epochOf = ({ leadership }: ReturnType<typeof stand>) => leadership.term().table.epoch;
const join = { session: "s", busy: true, claims: [Buffer.from("x")] };

test("a leader that was paused has forgotten all sessions, even if there was no other leader", async () => {
  const world = new TestWorld();
  const only = stand(world, "only");
  await world.when(() => only.leadership.leader.status.role === "leading");
  const first = only.leadership.term();
  first.table.join(join, () => undefined);
  await world.advance(5_000);
  expect(only.leadership.term()).toBe(first);
  only.machine.suspend();
  await world.advance(2_500);
  only.machine.resume();
  // This call is the first code that runs after the pause.
  const second = only.leadership.term();
  expect(second.table.epoch).not.toBe(first.table.epoch);
  expect(second.table.alive("s")).toBeUndefined();
  expect(first.signal.reason).toMatchObject({ code: "ORACLE_UNAVAILABLE" });
  await only.leadership.stop();
  expect(second.signal.reason).toMatchObject({ code: "NOT_LEADER" });
});

test("the next leader begins a new term, and one whose lease has expired answers nothing", async () => {
  const world = new TestWorld();
  const a = stand(world, "a");
  await world.when(() => a.leadership.leader.status.role === "leading");
  const b = stand(world, "b");
  await world.advance(1_000);
  expect(() => b.leadership.term()).toThrow(expect.objectContaining({ code: "NOT_LEADER", leader: "a" }));
  const term = a.leadership.term();
  a.machine.suspend();
  await world.when(() => b.leadership.leader.status.role === "leading");
  expect(() => a.leadership.term()).toThrow(expect.objectContaining({ code: "NOT_LEADER" }));
  a.machine.resume();
  await world.advance(1_000);
  expect(term.signal.aborted).toBe(true);
  expect(() => a.leadership.term()).toThrow(expect.objectContaining({ code: "NOT_LEADER", leader: "b" }));
  expect(epochOf(b)).not.toBe(term.table.epoch);
  await a.leadership.stop();
  await b.leadership.stop();
});
