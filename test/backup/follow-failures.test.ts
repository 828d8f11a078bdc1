import { expect, test } from "vitest";
import { FolderBackup } from "../../src/backup/folder-backup.js";
import { StoreChangedError, StoreError } from "../../src/errors/index.js";
import { items } from "./load.js";
import { common, Places } from "./restored.js";

test("following goes on after a failure, but ends if the folder was read without a lock and has changed", async () => {
  await using places = await Places.make();
  await using db = await places.openData();
  await db.transact((tx) => tx.set(items.value, "a", 1));
  const options = { ...common, location: places.data, destination: places.backups, readOnly: true };
  const folder = await FolderBackup.open(options);
  const reports = folder.follow(0);
  expect(await reports.next()).toMatchObject({ value: { kind: "full" } });
  const failure = new StoreError("The disk does not answer.");
  folder.make = () => Promise.reject(failure);
  expect((await reports.next()).value).toEqual({ kind: "failed", error: failure });
  const changed = new StoreChangedError("Another process has written.");
  folder.make = () => Promise.reject(changed);
  await expect(reports.next()).rejects.toBe(changed);
  await folder.close();
});
