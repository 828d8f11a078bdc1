import { family, int, table, text, tuple } from "percolatordb";
import { expect, test } from "vitest";
import type { CellHistory, RowDetail, RowsPage } from "../../src/dashboard/api/index.js";
import { variants, withDatabase } from "../support/databases.js";
import { served } from "./pipeline.js";

const columns = { token: text(), user: text(), seen: family(text()) };
const hour = 3_600_000;
const sessions = table("sessions", columns, { ttlMs: { token: hour, seen: 50 } });
/** As a program declares it that does not know of the times. */
const plain = table("sessions", columns);
const lasting = table("lasting", { note: text() });
const parts = table("parts", { note: text() }, { key: tuple(text(), int()) });

const eternal = table("eternal", { note: text() }, { ttlMs: Number.MAX_SAFE_INTEGER });

const expiring = (cells: RowsPage["rows"][number]["cells"]) =>
  Object.fromEntries(cells.map(({ column, expiresAt }) => [column, expiresAt]));

test.each(variants)("cells say when they expire, over $store, commit $commit", (variant) =>
  withDatabase(variant, { tables: [sessions, lasting, parts], collectEveryMs: 0 }, async (db) => {
    // The dashboard's module is older than the recorded times, which are those that sweeps use.
    await using dashboard = await served(db, { tables: [plain, lasting, parts] });
    const { get } = dashboard;
    await db.transact((tx) => {
      tx.set(sessions.token, "s1", "t");
      tx.set(sessions.user, "s1", "Ann");
      tx.set(sessions.seen.at("a"), "s1", "x");
      tx.set(lasting.note, "n", "stays");
      tx.set(parts.note, ["oslo", 1], "x");
    });
    const { versions } = await get<CellHistory>("history?table=sessions&row=s1&column=token");
    const { at } = versions[0]!;
    const expected = { token: at + hour, user: undefined, "seen:a": at + 50 };
    const page = await get<RowsPage>("rows?table=sessions");
    expect(expiring(page.rows[0]!.cells)).toEqual(expected);
    expect(expiring((await get<RowDetail>("row?table=sessions&row=s1")).cells)).toEqual(expected);
    // A row of the past has no future.
    const before = await get<RowDetail>(`row?table=sessions&row=s1&at=${page.at}`);
    expect(before.cells.map(({ expiresAt }) => expiresAt)).toEqual([undefined, undefined, undefined]);
    expect((await get<RowsPage>("rows?table=lasting")).rows[0]!.cells[0]).not.toHaveProperty("expiresAt");
    const composite = await get<RowsPage>("rows?table=parts");
    expect([composite.keyParts, composite.keyKinds]).toEqual([2, ["text", "int"]]);
    expect([page.keyParts, page.keyKinds]).toEqual([undefined, undefined]);
    // A new write begins the time again.
    await db.transact((tx) => tx.set(sessions.token, "s1", "t"));
    const again = await get<RowDetail>("row?table=sessions&row=s1");
    const { versions: both } = await get<CellHistory>("history?table=sessions&row=s1&column=token");
    expect(expiring(again.cells).token).toBe(both[0]!.at + hour);
    expect(both).toHaveLength(2);
  }),
);

test("a cell that expires after every date has no expiry", () =>
  withDatabase({ store: "memory", commit: "auto" }, { tables: [eternal], collectEveryMs: 0 }, async (db) => {
    await using dashboard = await served(db, { tables: [eternal] });
    await db.transact((tx) => tx.set(eternal.note, "a", "stays"));
    const page = await dashboard.get<RowsPage>("rows?table=eternal");
    expect(expiring(page.rows[0]!.cells)).toEqual({ note: undefined });
  }));
