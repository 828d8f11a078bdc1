import { join } from "node:path";

/** One process; two at a time; two at a time, of which one is killed; three that are killed while they write, each followed by another that goes on. */
export type Course = "one" | "two" | "survivor" | "killed";

export interface Scenario {
  readonly course: Course;
  readonly commit: "auto" | "two-phase";
  readonly durability: "full" | "none";
  /** Operations of each process. */
  readonly most: number;
}

export const journalOf = (folder: string, writer: string) => join(folder, `journal-${writer}`);
const writers: Readonly<Record<Course, readonly string[]>> = {
  one: ["first"],
  two: ["first", "second"],
  survivor: ["first", "second"],
  killed: ["first", "second", "third", "fourth"],
};

export const writersOf = (course: Course) => writers[course];
