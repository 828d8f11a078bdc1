import { TestClock } from "percolatordb/testing";
import { expect, it } from "vitest";
import { Lock } from "./lock.js";
import { type Manifest, names } from "./manifest.js";
import { encodePart } from "./parts.js";
import { BackupPlace } from "./place.js";
import type { BackupStorage } from "./storage.js";

/** What one process sees of objects that processes share. While `gate` is pending, no request is done. */
class View implements BackupStorage {
  readonly description = "a map";
  readonly objects: Map<string, Buffer>;
  gets = 0;
  gate: Promise<void> | undefined;
  atClean = (): void => undefined;

  constructor(objects: Map<string, Buffer>) {
    this.objects = objects;
  }

  async put(name: string, bytes: Uint8Array) {
    await this.gate;
    this.objects.set(name, Buffer.from(bytes));
  }
  async create(name: string, bytes: Uint8Array) {
    await this.gate;
    if (this.objects.has(name)) return false;
    this.objects.set(name, Buffer.from(bytes));
    return true;
  }
  async get(name: string) {
    await this.gate;
    this.gets++;
    return this.objects.get(name);
  }
  async *list(prefix: string) {
    await this.gate;
    for (const name of [...this.objects.keys()]) if (name.startsWith(prefix)) yield name;
  }
  async delete(name: string) {
    await this.gate;
    this.objects.delete(name);
  }
  async clean() {
    this.atClean();
    await this.gate;
  }
}

const manifest = (takenAt: number, pack: string): Manifest => ({
  takenAt,
  timestamp: takenAt * 1_000,
  identity: `${takenAt}`,
  source: "lmdb:data",
  fileName: "data.mdb",
  pageSize: 4_096,
  pageCount: 1,
  packs: [{ name: pack, after: 0, mark: 1, pages: 1, bytes: 1 }],
});

async function storePack(place: BackupPlace, text: string): Promise<string> {
  const name = await place.putPart(await encodePart(4_096, [0], Buffer.alloc(4_096, text)));
  return place.putPack([{ name, pages: 1, bytes: 1 }]);
}

it("a further backup reads no earlier manifest again, however many are kept", async () => {
  const environment = new TestClock().process();
  const storage = new View(new Map());
  const place = await BackupPlace.open(storage, environment, { create: true });
  const lock = await Lock.take(storage, environment);
  const pack = await storePack(place, "a");
  const now = environment.now();
  const keep = 10_050;
  const make = (i: number) => place.putManifest(manifest(now + i, pack), `m${i}`, lock);
  for (let i = 0; i < keep; i++) await make(i);
  await place.prune({ keep }, now, lock);
  for (const i of [keep, keep + 1]) {
    await make(i);
    storage.gets = 0;
    expect(await place.prune({ keep }, now, lock)).toBe(1);
    expect(storage.gets).toBeLessThan(10);
  }
  await lock.release();
}, 60_000);

it("a process that loses the lock while it deletes old backups deletes nothing of the new holder", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const objects = new Map<string, Buffer>();
  const [mine, other] = [new View(objects), new View(objects)];
  const place = await BackupPlace.open(mine, environment, { create: true });
  const lock = await Lock.take(mine, environment);
  const now = clock.now();
  for (const i of [0, 1]) {
    await place.putManifest(manifest(now + i, await storePack(place, `old ${i}`)), `m${i}`, lock);
  }
  // This process does not reach the storage any more, after it has checked its lock.
  let reachAgain = (): void => undefined;
  const isCut = new Promise<void>((cut) => {
    mine.atClean = () => {
      mine.gate = new Promise((resolve) => {
        reachAgain = resolve;
      });
      cut();
    };
  });
  const pruned = place.prune({ keep: 1 }, now, lock).catch((error: unknown) => error);
  await isCut;
  // Another one takes the lock after 20 s, and makes a backup.
  await clock.advance(25_000);
  objects.set(names.lock, Buffer.from(JSON.stringify({ holder: "another", process: "elsewhere", beat: 0 })));
  const taken = { check: async () => undefined } as unknown as Lock;
  const otherPlace = await BackupPlace.open(other, environment, { create: false });
  await otherPlace.putManifest(manifest(now + 2, await storePack(otherPlace, "new")), "m2", taken);
  // The first one reaches the storage again.
  mine.gate = undefined;
  reachAgain();
  expect(await pruned).toMatchObject({ code: "BACKUP_BUSY" });
  expect(await otherPlace.verify()).toEqual([]);
  await lock.release();
  expect(objects.get(names.lock)!.toString()).toContain('"another"');
});
