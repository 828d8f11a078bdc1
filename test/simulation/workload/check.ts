import type { Database } from "percolatordb";
import { demand, demandEqual } from "./expect.js";
import type { Ledger } from "./ledger.js";
import { laterObservers } from "./observers.js";
import { logins, loginTtlMs, pages, sessions, totals } from "./tables.js";

/** Works until nothing is due, and compares all derived data with its source. */
export async function checkAll(db: Database, ledger: Ledger): Promise<void> {
  ledger.world.fails = false;
  // A backfill that was confirmed need not be repeated.
  for (const later of laterObservers) if (!ledger.backfilled.has(later)) await db.backfill(later);
  await db.drain();
  for await (const parked of db.parked()) await db.retry(parked);
  await db.drain();
  await db.collect();
  await db.drain();
  await checkDerived(db, ledger);
  await checkLogins(db);
  await ledger.check(db);
}

async function checkDerived(db: Database, { notReviewed, notSeen }: Ledger): Promise<void> {
  await using snapshot = await db.snapshot();
  let sum = 0;
  for await (const { row, value: page } of snapshot.scan(pages)) {
    const { text, topic } = page;
    demandEqual(`the length of ${row}`, page.length, text?.length);
    demandEqual(
      `the words of ${row}`,
      page.words,
      text === undefined ? undefined : 2 * text.split(" ").length,
    );
    if (!notReviewed.has(row)) demandEqual(`the review of ${row}`, page.reviewed, text);
    demandEqual(`the mirror of ${row}`, page.mirrored, text);
    if (!notSeen.has(row)) demandEqual(`the topic that was seen of ${row}`, page.topicSeen, topic);
    sum += text?.length ?? 0;
    const tags = new Map<string, string>();
    for await (const { qualifier, value } of snapshot.entries(pages.tags, row)) tags.set(qualifier, value);
    for await (const { qualifier, value } of snapshot.entries(pages.upperTags, row)) {
      demandEqual(`the tag ${qualifier} of ${row}`, value, tags.get(qualifier)?.toUpperCase());
      tags.delete(qualifier);
    }
    demand(tags.size === 0, () => `tags of ${row} were never seen: ${[...tags.keys()].join(", ")}`);
  }
  let counted = 0;
  for await (const { value } of snapshot.scan(totals.length)) counted += value;
  demandEqual("the sum of all lengths, counted change by change", counted, sum);
}

/** Every end of a login was seen once, and none came before its time. */
async function checkLogins(db: Database): Promise<void> {
  await using snapshot = await db.snapshot();
  const tokens = new Map<string, string>();
  for await (const { row, value } of snapshot.scan(logins.token)) tokens.set(row, value);
  const seen = new Map<string, string>();
  for await (const { row, value } of snapshot.scan(sessions.token)) seen.set(row, value);
  demandEqual("the logins that were seen", JSON.stringify([...seen]), JSON.stringify([...tokens]));
  demandEqual(
    "the logins, counted change by change",
    (await snapshot.get(sessions.open, "all")) ?? 0,
    tokens.size,
  );
  for (const row of ["ann", "bob"]) {
    const versions = await db.history(logins.token, row);
    for (const [index, { value, commitTimestamp }] of versions.entries()) {
      const before = versions[index + 1];
      if (value !== undefined || before?.value === undefined) continue;
      const livedMs = (commitTimestamp - before.commitTimestamp) / 1_000;
      demand(livedMs >= loginTtlMs, () => `the login of ${row} lived for only ${livedMs} ms`);
    }
  }
}
