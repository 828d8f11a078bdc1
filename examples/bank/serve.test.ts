import { open } from "percolatordb";
import { live } from "percolatordb/live/client";
import { expect, test } from "vitest";
import { audit } from "./audit.js";
import { type LiveAudit, liveAudit } from "./live-audit.js";
import { makeTransfers, openAccounts } from "./load.js";
import { serveBank } from "./serve.js";
import { accounts, cash, tables } from "./tables.js";
import { transfer } from "./transfer.js";

const options = { tables, observers: [audit], durability: "none" } as const;

test("each value adds up while transfers are made, and the last one has the whole trail", async () => {
  await using db = await open("memory:", options);
  db.work();
  await using server = await serveBank(db, { port: 0, account: "account 0" });
  await openAccounts(db, 6);
  const seen: LiveAudit[] = [];
  const subscription = live<ReturnType<typeof liveAudit>>(`${server.url}live/audit`, {
    onValue: ({ value }) => void seen.push(value),
  });
  await expect.poll(() => seen.length).toBeGreaterThan(0);
  await makeTransfers(db, { accounts: 6, transfers: 60, clients: 8, name: "load" });
  // The trail is in the order of the ids.
  await db.transact((tx) => transfer(tx, "z", { from: cash, to: "account 0", amount: 7 }));
  await expect.poll(() => seen.at(-1)?.lines[0]).toEqual({ id: "z", amount: 7 });
  await expect.poll(() => seen.at(-1)?.notYetInTrail).toBe(0);
  subscription.close();
  expect(seen.map(({ sum }) => sum)).toEqual(seen.map(() => 0));
  const { balances, account } = seen.at(-1)!;
  expect(account).toBe("account 0");
  expect(balances).toHaveLength(7);
  await using view = await db.snapshot();
  for (const { account: name, balance } of balances)
    expect(await view.get(accounts.balance, name)).toBe(balance);
});

test("the trail of another account, one line for each of its transfers, as its balance", async () => {
  await using db = await open("memory:", options);
  await using server = await serveBank(db, { port: 0, account: "Bob" });
  await db.transact((tx) => transfer(tx, "1", { from: cash, to: "Joe", amount: 10 }));
  const first = async (path: string) => {
    for await (const { value } of live<ReturnType<typeof liveAudit>>(server.url + path)) return value;
  };
  expect(await first("live/audit?account=Joe")).toMatchObject({ sum: 0, lines: [], notYetInTrail: 10 });
  await db.drain();
  const lines = [{ id: "1", amount: 10 }];
  expect(await first("live/audit?account=Joe")).toMatchObject({ account: "Joe", lines, notYetInTrail: 0 });
  expect(await first("live/audit")).toMatchObject({ account: "Bob", lines: [], notYetInTrail: 0 });
});

test("the newest line of a trail is the first", async () => {
  await using db = await open("memory:", options);
  await openAccounts(db, 2);
  // Both accounts are in each of the transfers.
  const ids: string[] = [];
  const load = { accounts: 2, transfers: 11, clients: 1, name: "2026-01-31T12:00:00.000Z", random: () => 0 };
  await makeTransfers(db, { ...load, onDone: (id) => void ids.push(id) });
  await db.drain();
  for await (const { value } of db.live(liveAudit("account 0"))) {
    expect(value.lines.map(({ id }) => id)).toEqual([...ids.reverse(), "0000 opening 0"]);
    break;
  }
});

test("the page has a strict policy, and other addresses are refused", async () => {
  await using db = await open("memory:", options);
  await using server = await serveBank(db, { port: 0, account: "Bob" });
  expect(new URL(server.url).hostname).toBe("127.0.0.1");
  const page = await fetch(server.url);
  expect(page.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'; connect-src 'self'/,
  );
  expect(await page.text()).toContain('<tbody id="balances">');
  expect(await (await fetch(server.url, { method: "HEAD" })).text()).toBe("");
  expect((await fetch(`${server.url}elsewhere`)).status).toBe(404);
  const long = await fetch(`${server.url}live/audit?account=${"x".repeat(101)}`);
  expect([long.status, await long.json()]).toMatchObject([400, { code: "INVALID_ARGUMENT" }]);
  expect((await fetch(`${server.url}live/audit`, { method: "POST" })).status).toBe(405);
});
