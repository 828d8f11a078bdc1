import type { Isolation } from "percolatordb";
import type { StepName } from "percolatordb/testing";
import { type Interference, passes } from "percolatordb/testing";
import { expect } from "vitest";
import { accounts, copies } from "./bank.js";
import { Cluster, type Member, type Variant } from "./cluster.js";

/** A step of a two-phase commit of two rows, "alice" (the primary) and "bob". */
export interface Point {
  readonly name: string;
  readonly step: StepName;
  /** How many steps of that name come before it. */
  readonly after: number;
  readonly isolation: Isolation;
}

function point(name: string, step: StepName, after = 0, isolation: Isolation = "snapshot"): Point {
  return { name, step, after, isolation };
}

export const points: readonly Point[] = [
  point("the primary's prewrite", "prewrite"),
  point("the secondary's prewrite", "prewrite", 1),
  point("the commit timestamp", "commit-timestamp"),
  point("the validation", "validate", 0, "serializable"),
  point("the first hint", "hints"),
  point("the second hint", "hints", 1),
  point("the primary's commit", "commit-primary"),
  point("the secondary's commit", "commit-secondary"),
];

/** Whether a transaction that got to this point is committed. */
export function isCommitted({ step }: Point, when: "before" | "after"): boolean {
  return step === "commit-secondary" || (step === "commit-primary" && when === "after");
}

export function interfere(member: Member, { step, after }: Point, interference: Interference): void {
  for (let pass = 0; pass < after; pass++) member.hooks.once(step, passes);
  member.hooks.once(step, interference);
}

/**
 * Starts two processes: one that writes and hosts no observer, and one that hosts `copies`. The
 * balances are: alice 1, bob 2.
 */
export async function startWith(
  variant: Variant,
): Promise<{ cluster: Cluster; owner: Member; other: Member }> {
  const cluster = await Cluster.start(variant);
  const other = await cluster.join({ observers: [copies] });
  const owner = await cluster.join();
  await other.db.transact((tx) => {
    tx.set(accounts.balance, "alice", 1);
    tx.set(accounts.balance, "bob", 2);
    tx.set(accounts.balance, "carol", 3);
  });
  await other.db.drain();
  return { cluster, owner, other };
}

/**
 * Sets alice to 11 and bob to 12 in one transaction. If it is serializable it also reads another
 * cell.
 */
export async function writeBoth({ db }: Member, isolation: Isolation = "snapshot"): Promise<void> {
  const tx = await db.begin({ isolation, label: "both" });
  await tx.get(accounts.balance, "carol");
  tx.set(accounts.balance, "alice", 11);
  tx.set(accounts.balance, "bob", 12);
  await tx.commit();
}

export async function readBoth({ db }: Member): Promise<readonly (number | undefined)[]> {
  await using snapshot = await db.snapshot();
  return await snapshot.getMany(accounts.balance, ["alice", "bob"]);
}

/** Returns how often `copies` has committed in a process. */
export function copied({ db }: Member): number {
  return db.metrics.observers.copies?.runs.committed ?? 0;
}

/** Drains. Then expects these balances, a copy of each, no hint, no lock and a sound store. */
export async function expectSettled(
  cluster: Cluster,
  member: Member,
  balances: readonly number[],
): Promise<void> {
  const { db } = member;
  await db.drain();
  expect(await readBoth(member)).toEqual(balances);
  await using snapshot = await db.snapshot();
  expect(await snapshot.getMany(accounts.copy, ["alice", "bob"])).toEqual(balances);
  for await (const pending of db.pending()) expect(pending).toBeUndefined();
  await cluster.expectClean(db);
}
