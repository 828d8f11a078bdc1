import { join } from "node:path";

/**
 * `one`: one process. `two`: two at a time. `survivor`: two at a time, one of which is killed.
 * `killed`: three that are killed while they write, each followed by another process.
 */
export type Course = "one" | "two" | "survivor" | "killed";

export interface Scenario {
  readonly course: Course;
  readonly commit: "auto" | "two-phase";
  readonly durability: "full" | "none";
  /** The number of operations of each process. */
  readonly most: number;
  /** How many of them are under way at a time. */
  readonly concurrency: number;
}

export const journalOf = (folder: string, writer: string) => join(folder, `journal-${writer}`);
const writers: Readonly<Record<Course, readonly string[]>> = {
  one: ["first"],
  two: ["first", "second"],
  survivor: ["first", "second"],
  killed: ["first", "second", "third", "fourth"],
};

export const writersOf = (course: Course) => writers[course];
