import { describe, expect, test } from "vitest";
import { coordinatorLimits as limits } from "../limits.js";
import { MembershipTable } from "./membership-table.js";

const key = (name: string) => Buffer.from(name);
const noClaims = { busy: false, claims: [] };
const member = (table: MembershipTable, session: string, onReplaced = () => undefined) =>
  table.join({ session, ...noClaims }, onReplaced);

describe("sessions", () => {
  test("live until they end, and are then known as ended; others are unknown", () => {
    const table = new MembershipTable("e");
    const a = member(table, "a");
    expect([table.alive("a"), table.alive("b")]).toEqual([true, undefined]);
    a.end();
    a.end();
    expect(table.alive("a")).toBe(false);
    member(table, "a");
    expect(table.alive("a")).toBe(true);
  });

  test("a session that joins again replaces its earlier member, whose end then changes nothing", () => {
    const table = new MembershipTable("e");
    let replaced = 0;
    const before = member(table, "a", () => void replaced++);
    before.claim(key("x"));
    const after = table.join({ session: "a", busy: true, claims: [key("y")] }, () => undefined);
    before.end();
    expect([replaced, table.alive("a"), table.sessions]).toEqual([1, true, 1]);
    expect(() => before.claim(key("x"))).toThrow("has ended");
    expect(() => before.busy()).toThrow("has ended");
    const other = member(table, "b");
    expect([other.claim(key("x")), other.claim(key("y"))]).toEqual([true, false]);
    expect(table.activity().busy).toEqual(["a"]);
    after.end();
    expect(other.claim(key("y"))).toBe(true);
  });

  test("are limited, and so is the memory of ended ones", () => {
    const table = new MembershipTable("e");
    for (let index = 0; index < limits.endedSessions + 2; index++) member(table, `s${index}`).end();
    expect([table.alive("s0"), table.alive("s1"), table.alive("s2")]).toEqual([undefined, undefined, false]);
    for (let index = 0; index < limits.sessions; index++) member(table, `t${index}`);
    expect(() => member(table, "one more")).toThrow(expect.objectContaining({ code: "LIMIT_EXCEEDED" }));
    // A session that has joined may join again.
    member(table, "t0");
  });
});

describe("claims", () => {
  test("are held by one session until it releases them or ends", () => {
    const table = new MembershipTable("e");
    const [a, b] = [member(table, "a"), member(table, "b")];
    expect([a.claim(key("x")), a.claim(key("x")), b.claim(key("x"))]).toEqual([true, true, false]);
    b.release(key("x"));
    expect(b.claim(key("x"))).toBe(false);
    a.release(key("x"));
    expect([b.claim(key("x")), a.claim(key("x"))]).toEqual([true, false]);
    b.end();
    expect([a.claim(key("x")), table.claims]).toEqual([true, 1]);
  });

  test("are distinguished by all their bytes", () => {
    const table = new MembershipTable("e");
    const [a, b] = [member(table, "a"), member(table, "b")];
    a.claim(Buffer.from([0xc3, 0x28]));
    expect(b.claim(Buffer.from([0xc3, 0x29]))).toBe(true);
    expect(b.claim(new Uint8Array([0xc3, 0x28]))).toBe(false);
  });

  test("beyond a session's limit are granted but not recorded", () => {
    const table = new MembershipTable("e");
    const [a, b] = [member(table, "a"), member(table, "b")];
    for (let index = 0; index <= limits.claimsOfSession; index++) expect(a.claim(key(`${index}`))).toBe(true);
    expect([table.claims, a.held]).toEqual([limits.claimsOfSession, limits.claimsOfSession]);
    expect(b.claim(key(`${limits.claimsOfSession}`))).toBe(true);
    expect(b.claim(key("0"))).toBe(false);
  });
});

test("of all sessions are limited in bytes", () => {
  const table = new MembershipTable("e");
  const longest = (index: number) => Buffer.alloc(limits.claimBytes, `${index} `);
  const fit = limits.allClaimBytes / limits.claimBytes;
  const members = Array.from({ length: 8 }, (_, index) => member(table, `s${index}`));
  for (let index = 0; index < fit + 10; index++) expect(members[index % 8]!.claim(longest(index))).toBe(true);
  expect(table.claims).toBe(fit);
  for (const each of members) each.end();
  expect(table.claims).toBe(0);
  expect([member(table, "next").claim(longest(0)), table.claims]).toEqual([true, 1]);
});

describe("activity", () => {
  test("counts how often any session began to be busy", () => {
    const table = new MembershipTable("e");
    const [a, b] = [member(table, "a"), member(table, "b")];
    a.busy();
    a.busy();
    a.quiet();
    a.busy();
    b.busy();
    a.quiet();
    expect(table.activity()).toEqual({ epoch: "e", busyPeriods: 3, sessions: ["a", "b"], busy: ["b"] });
    b.end();
    expect(table.activity()).toEqual({ epoch: "e", busyPeriods: 3, sessions: ["a"], busy: [] });
  });
});
