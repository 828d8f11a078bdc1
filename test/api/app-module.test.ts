import { InvalidArgumentError, int, open, table, text } from "percolatordb";
import { derive, eventualIndex, schedule, uniqueConstraint } from "percolatordb/recipes";
import { expect, test } from "vitest";

const users = table("users", { email: text(), team: text() });
const sizes = derive("sizes", {
  from: users,
  key: [text()],
  groupBy: (user) => [user.team],
  count: true,
});
const reminders = schedule("reminders", { value: int(), fire: () => undefined });
const emails = uniqueConstraint("emails", users.email, { by: (email) => email });
const byTeam = eventualIndex("by_team", users.team, { by: text(), of: (team) => [team] });
// What `percolator worker` takes.
const app = { tables: [users], derivations: [sizes], schedules: [reminders], lookups: [emails, byTeam] };

test("open takes the module of a worker: what its parts have counts as listed", async () => {
  await using db = await open("memory:", app);
  const names = [
    "users",
    "sizes",
    "sizes_rows",
    "sizes_sums",
    "reminders",
    "reminders_due",
    "emails",
    "by_team",
  ];
  expect([...(await db.tables()).keys()]).toEqual(expect.arrayContaining(names));
  await db.transact(async (tx) => {
    await emails.set(tx, "u1", "ann@example.org");
    tx.set(users.team, "u1", "red");
    await reminders.after(tx, "u1", 1_000, 1);
  });
  await db.drain();
  await using snapshot = await db.snapshot();
  expect(await snapshot.row(sizes.table, ["red"])).toEqual({ count: 1 });
  const found: string[] = [];
  for await (const row of byTeam.find(snapshot, "red")) found.push(row);
  expect(found).toEqual(["u1"]);
});

test("a part that is listed besides is registered once", async () => {
  const both = { ...app, tables: [users, emails.table], observers: sizes.observers };
  await using db = await open("memory:", both);
  await db.transact((tx) => tx.set(users.team, "u1", "red"));
  await db.drain();
  expect((await db.transact((tx) => tx.row(sizes.table, ["red"])))?.count).toBe(1);
});

test.each([
  ["derivations", "an array of derivations"],
  ["schedules", "an array of schedules"],
  ["lookups", "an array of unique constraints and indexes"],
])("open refuses other things in `%s`", async (name, wanted) => {
  for (const wrong of [{}, [users], [undefined]]) {
    const opening = open("memory:", { [name]: wrong } as never);
    await expect(opening).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(opening).rejects.toThrow(`\`${name}\` of \`open\` must be ${wanted}`);
  }
});
