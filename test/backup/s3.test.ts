import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { BackupAccessError, BackupFullError, backup, restore } from "percolatordb/backup";
import { describe, expect, test } from "vitest";
import { FolderBackup } from "../../src/backup/folder-backup.js";
import { BackupPlace } from "../../src/backup/place.js";
import { storageOf } from "../../src/backup/storage-of.js";
import { systemEnvironment } from "../../src/environment/index.js";
import { openAlone } from "../support/databases.js";
import { checkContinued } from "./app.js";
import { addUp, items, tables } from "./load.js";
import { common, Places } from "./restored.js";
import { S3Server } from "./s3-server.js";

async function withServer(use: (server: S3Server, places: Places) => Promise<void>): Promise<void> {
  await using server = new S3Server();
  await server.start();
  await using places = await Places.make();
  await use(server, places);
}

const destination = "s3://bucket/of data/shop (1)";

describe("backups in a storage with the protocol of S3", () => {
  test.each(["known", "refused", "ignored"] as const)(
    "are made, listed, checked, deleted and restored where If-None-Match is %s",
    async (conditions) => {
      await withServer(async (server, places) => {
        server.conditions = conditions;
        const options = { ...common, variables: server.variables };
        await using db = await places.openData();
        const set = (value: number) => db.transact((tx) => tx.set(items.value, "a", value));
        await set(0);
        const backup = await FolderBackup.open({ ...options, location: places.data, destination, keep: 4 });
        await expect(FolderBackup.open({ ...options, location: places.data, destination })).rejects.toThrow(
          /Another process writes backups/,
        );
        for (let value = 1; value < 9; value++) {
          await set(value);
          server.failures = value === 5 ? 3 : 0;
          expect(await backup.make()).toMatchObject({ kind: value === 1 ? "full" : "changes" });
        }
        await backup.close();
        expect(server.refused).toBe(0);
        expect([...server.objects.keys()].every((name) => name.startsWith("of data/shop (1)/"))).toBe(true);
        expect([...server.objects.keys()].filter((name) => name.includes("lock"))).toEqual([]);
        const storage = storageOf(destination, systemEnvironment, server.variables);
        const place = await BackupPlace.open(storage, systemEnvironment, { create: false });
        expect(await place.list()).toHaveLength(4);
        expect(await place.verify()).toEqual([]);
        await restore(destination, places.path("new"), options);
        await using restored = await openAlone(places.path("new"), { tables, observers: [addUp] });
        await using snapshot = await restored.snapshot();
        expect(await snapshot.get(items.value, "a")).toBe(8);
        await checkContinued(restored);
      });
    },
  );

  test("are not sent to another address to which the storage refers", async () => {
    await withServer(async (server) => {
      const requests: string[] = [];
      const from = createServer((request, response) => {
        requests.push(request.url!);
        response.writeHead(307, { location: `${server.variables.AWS_ENDPOINT_URL_S3}${request.url}` }).end();
      });
      await new Promise<void>((resolve) => from.listen(0, "127.0.0.1", resolve));
      const { port } = from.address() as AddressInfo;
      const variables = { ...server.variables, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}` };
      const storage = storageOf("s3://bucket/50%25", systemEnvironment, variables);
      await expect(storage.put("a", Buffer.of(1))).rejects.toThrow(
        /status 307.*check the region and the endpoint/,
      );
      expect(requests).toEqual(["/bucket/50%2525/a"]);
      expect(server.refused + server.objects.size).toBe(0);
      await new Promise((resolve) => from.close(resolve));
    });
  });

  test("are made in a folder that the console of S3 has made, as an empty object", async () => {
    await withServer(async (server, places) => {
      for (const name of ["shop/", "shop/older/"]) server.objects.set(name, Buffer.alloc(0));
      await using db = await places.openData();
      await db.transact((tx) => tx.set(items.value, "a", 1));
      const options = { ...common, variables: server.variables };
      expect(await backup(places.data, "s3://bucket/shop", options)).toMatchObject({ kind: "full" });
    });
  });

  test.each([
    ["encodes names", true],
    ["ignores encoding-type", false],
  ])("are all listed if the prefix has special characters, and the storage %s", async (_, encodes) => {
    await withServer(async (server) => {
      server.encodes = encodes;
      const storage = storageOf("s3://bucket/R&D's 5%+%41", systemEnvironment, server.variables);
      const names = ["0", "1", "2", "3", "4", "5", "6"].map((name) => `manifests/${name}`);
      for (const name of names) await storage.put(name, Buffer.from(name));
      const listed: string[] = [];
      for await (const name of storage.list("manifests/")) listed.push(name);
      expect(listed).toEqual(names);
    });
  });

  test.each([
    { status: 507, code: "XMinioStorageFull" },
    { status: 403, code: "QuotaExceeded" },
  ])(
    "fail with BACKUP_FULL at $code, leave the earlier backup and its space, and go on",
    async (whenFull) => {
      await withServer(async (server, places) => {
        server.whenFull = whenFull;
        const options = { ...common, variables: server.variables };
        await using db = await places.openData();
        const set = (value: number) => db.transact((tx) => tx.set(items.value, `row ${value}`, value));
        await set(0);
        const backup = await FolderBackup.open({ ...options, location: places.data, destination, keep: 1 });
        await backup.make();
        const before = new Map(server.objects);
        server.capacity = server.bytes + 2_000;
        for (let value = 1; value < 200; value++) await set(value);
        const { requests } = server;
        await expect(backup.make()).rejects.toThrow(BackupFullError);
        // It did not ask again and again.
        expect(server.requests - requests).toBeLessThan(30);
        expect([...server.objects.keys()].sort()).toEqual([...before.keys()].sort());
        server.capacity = Number.POSITIVE_INFINITY;
        expect(await backup.make()).toMatchObject({ kind: "changes", deleted: 1 });
        await backup.close();
        await restore(destination, places.path("new"), options);
        await using restored = await openAlone(places.path("new"), { tables, observers: [addUp] });
        await using snapshot = await restored.snapshot();
        expect(await snapshot.get(items.value, "row 199")).toBe(199);
      });
    },
  );

  test("say what is wrong with keys, buckets and servers", async () => {
    await withServer(async (server, places) => {
      await using _db = await places.openData();
      const open = (variables: Readonly<Record<string, string>>, place = destination) =>
        FolderBackup.open({ ...common, variables, location: places.data, destination: place });
      await expect(open({})).rejects.toThrow(/Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/);
      const refused = await open({ ...server.variables, AWS_SECRET_ACCESS_KEY: "wrong" }).catch(
        (e: Error) => e,
      );
      expect(refused).toBeInstanceOf(BackupAccessError);
      expect(String(refused)).toMatch(/status 403 \(SignatureDoesNotMatch: No\.\)/);
      await expect(open(server.variables, "s3:///x")).rejects.toThrow(/names no bucket/);
      for (const place of ["s3://bucket/./x", "s3://bucket/x/.."])
        await expect(open(server.variables, place)).rejects.toThrow(/has a part that is/);
      for (const endpoint of ["localhost", "localhost:9000", "http://"])
        await expect(open({ ...server.variables, AWS_ENDPOINT_URL_S3: endpoint })).rejects.toThrow(
          /AWS_ENDPOINT_URL_S3 .*is .*no URL with http/,
        );
      await expect(open(server.variables, "gs://bucket/x")).rejects.toThrow(/give a folder, or s3:/);
      await expect(open(server.variables, "s3://other/x")).rejects.toThrow(/status 404 \(NoSuchBucket\)/);
    });
  });
});
