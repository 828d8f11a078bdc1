import { afterEach, expect, test, vi } from "vitest";
import { FolderBackup } from "../../src/backup/folder-backup.js";
import { BackupPlace } from "../../src/backup/place.js";
import { StoreChangedError, StoreError } from "../../src/errors/index.js";
import type { PinnedState } from "../../src/store/index.js";
import { openLmdbStore } from "../../src/store/lmdb/index.js";
import { items } from "./load.js";
import { common, Places } from "./restored.js";

afterEach(() => vi.restoreAllMocks());

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

test("a failed backup releases both states that it read, even if the folder has changed", async () => {
  await using places = await Places.make();
  await using db = await places.openData();
  await db.transact((tx) => tx.set(items.value, "a", 1));
  const store = await openLmdbStore(places.data);
  const state = store.pages!.pin();
  state.release();
  const prototype = Object.getPrototypeOf(state) as PinnedState;
  const { release } = prototype;
  const released = new Set<PinnedState>();
  const changed = new StoreChangedError("Another process has written.");
  vi.spyOn(prototype, "release").mockImplementation(function (this: PinnedState) {
    released.add(this);
    release.call(this);
    throw changed;
  });
  vi.spyOn(BackupPlace.prototype, "putPart").mockRejectedValue(new StoreError("The disk does not answer."));
  const folder = await FolderBackup.open({ ...common, location: places.data, destination: places.backups });
  await expect(folder.make()).rejects.toBe(changed);
  expect(released.size).toBe(2);
  await folder.close();
  await store.close();
});
