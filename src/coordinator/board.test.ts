import { describe, expect, test } from "vitest";
import { Board } from "./board.js";
import { coordinatorLimits as limits } from "./limits.js";

const key = (name: string) => Buffer.from(name);
const noClaims = { busy: false, claims: [] };
const seat = (board: Board, session: string, onReplaced = () => undefined) =>
  board.join({ session, ...noClaims }, onReplaced);

describe("sessions", () => {
  test("live until they end, and are then known to have ended; others are not known", () => {
    const board = new Board("e");
    const a = seat(board, "a");
    expect([board.alive("a"), board.alive("b")]).toEqual([true, undefined]);
    a.end();
    a.end();
    expect(board.alive("a")).toBe(false);
    seat(board, "a");
    expect(board.alive("a")).toBe(true);
  });

  test("one that joins again takes the place of the one before, whose end is then of no account", () => {
    const board = new Board("e");
    let replaced = 0;
    const before = seat(board, "a", () => void replaced++);
    before.claim(key("x"));
    const after = board.join({ session: "a", busy: true, claims: [key("y")] }, () => undefined);
    before.end();
    expect([replaced, board.alive("a"), board.sessions]).toEqual([1, true, 1]);
    expect(() => before.claim(key("x"))).toThrow("over");
    expect(() => before.busy()).toThrow("over");
    const other = seat(board, "b");
    expect([other.claim(key("x")), other.claim(key("y"))]).toEqual([true, false]);
    expect(board.activity().busy).toEqual(["a"]);
    after.end();
    expect(other.claim(key("y"))).toBe(true);
  });

  test("are bounded, and so is the memory of those that ended", () => {
    const board = new Board("e");
    for (let index = 0; index < limits.endedSessions + 2; index++) seat(board, `s${index}`).end();
    expect([board.alive("s0"), board.alive("s1"), board.alive("s2")]).toEqual([undefined, undefined, false]);
    for (let index = 0; index < limits.sessions; index++) seat(board, `t${index}`);
    expect(() => seat(board, "one more")).toThrow(expect.objectContaining({ code: "LIMIT_EXCEEDED" }));
    // Whoever is seated may come again.
    seat(board, "t0");
  });
});

describe("claims", () => {
  test("are held by one session until it gives them back or ends", () => {
    const board = new Board("e");
    const [a, b] = [seat(board, "a"), seat(board, "b")];
    expect([a.claim(key("x")), a.claim(key("x")), b.claim(key("x"))]).toEqual([true, true, false]);
    b.release(key("x"));
    expect(b.claim(key("x"))).toBe(false);
    a.release(key("x"));
    expect([b.claim(key("x")), a.claim(key("x"))]).toEqual([true, false]);
    b.end();
    expect([a.claim(key("x")), board.claims]).toEqual([true, 1]);
  });

  test("are names by all their bytes", () => {
    const board = new Board("e");
    const [a, b] = [seat(board, "a"), seat(board, "b")];
    a.claim(Buffer.from([0xc3, 0x28]));
    expect(b.claim(Buffer.from([0xc3, 0x29]))).toBe(true);
    expect(b.claim(new Uint8Array([0xc3, 0x28]))).toBe(false);
  });

  test("beyond a session's limit are granted and not kept", () => {
    const board = new Board("e");
    const [a, b] = [seat(board, "a"), seat(board, "b")];
    for (let index = 0; index <= limits.claimsOfSession; index++) expect(a.claim(key(`${index}`))).toBe(true);
    expect([board.claims, a.held]).toEqual([limits.claimsOfSession, limits.claimsOfSession]);
    expect(b.claim(key(`${limits.claimsOfSession}`))).toBe(true);
    expect(b.claim(key("0"))).toBe(false);
  });
});

test("claims of all sessions are bounded in bytes", () => {
  const board = new Board("e");
  const longest = (index: number) => Buffer.alloc(limits.claimBytes, `${index} `);
  const fit = limits.allClaimBytes / limits.claimBytes;
  const seats = Array.from({ length: 8 }, (_, index) => seat(board, `s${index}`));
  for (let index = 0; index < fit + 10; index++) expect(seats[index % 8]!.claim(longest(index))).toBe(true);
  expect(board.claims).toBe(fit);
  for (const each of seats) each.end();
  expect(board.claims).toBe(0);
  expect([seat(board, "next").claim(longest(0)), board.claims]).toEqual([true, 1]);
});

describe("activity", () => {
  test("counts how often any session began to be busy", () => {
    const board = new Board("e");
    const [a, b] = [seat(board, "a"), seat(board, "b")];
    a.busy();
    a.busy();
    a.quiet();
    a.busy();
    b.busy();
    a.quiet();
    expect(board.activity()).toEqual({ epoch: "e", turns: 3, sessions: ["a", "b"], busy: ["b"] });
    b.end();
    expect(board.activity()).toEqual({ epoch: "e", turns: 3, sessions: ["a"], busy: [] });
  });
});
