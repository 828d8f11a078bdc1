import { beforeEach, describe, expect, test } from "vitest";
import { documents } from "../../../test/support/observer/documents.js";
import { buckets } from "../hint/hint.js";
import { type Observer, observer } from "../index.js";
import { BucketAssignment, type HostingSessions } from "./bucket-assignment.js";

const [first, second] = ["first", "second"].map((name) => observer(name, documents.contents, () => {}));

let sessions: string[];
let listeners: (() => void)[];

beforeEach(() => {
  [sessions, listeners] = [["a", "b"], []];
});

function assignmentOf(session: string): BucketAssignment {
  const of: HostingSessions = {
    session,
    hosting: () => sessions,
    onChange(listener) {
      listeners.push(listener);
      return () => undefined;
    },
  };
  return new BucketAssignment(of);
}

const change = () => {
  for (const listener of listeners) listener();
};

/** The buckets that a process owns for an observer. */
function owned(assignment: BucketAssignment, of: Observer): number[] {
  return Array.from({ length: buckets }, (_, bucket) => bucket).filter((bucket) =>
    assignment.owns(of, bucket),
  );
}

describe("the buckets of several processes", () => {
  test("a process has the same buckets for each observer, so that one process works on a row", () => {
    const assignment = assignmentOf("a");
    expect(owned(assignment, first!)).toHaveLength(buckets / 2);
    expect(owned(assignment, second!)).toEqual(owned(assignment, first!));
  });

  test("of more processes than buckets, each has buckets of some observer", () => {
    sessions = Array.from({ length: buckets + 16 }, (_, index) => `session ${index}`);
    const observers = Array.from({ length: 8 }, (_, index) =>
      observer(`observer_${index}`, documents.contents, () => {}),
    );
    for (const session of sessions) {
      const assignment = assignmentOf(session);
      expect(observers.flatMap((each) => owned(assignment, each)).length).toBeGreaterThan(0);
    }
  });

  test("tells when other sessions share the buckets, and only then", () => {
    const assignment = assignmentOf("a");
    let moved = 0;
    assignment.onMoved(() => moved++);
    change();
    expect(moved).toBe(0);
    const before = owned(assignment, first!);
    change();
    expect(moved).toBe(0);
    sessions = ["a"];
    change();
    expect(moved).toBe(1);
    expect(owned(assignment, first!)).toHaveLength(buckets);
    sessions = ["a", "b"];
    assignment.renew();
    expect(moved).toBe(2);
    expect(owned(assignment, first!)).toEqual(before);
  });
});
