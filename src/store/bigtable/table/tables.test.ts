import { credentials, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import {
  Failure,
  type Handler,
  type Plain,
  TestService,
  usableTable,
} from "../../../../test/support/bigtable/service.js";
import { systemEnvironment } from "../../../environment/index.js";
import { openBigtableStore } from "../index.js";
import { parseLocation } from "../location.js";
import { Transport } from "../wire/transport.js";
import { Tables } from "./tables.js";

const ended: (() => void)[] = [];

afterEach(() => {
  for (const end of ended.splice(0)) end();
});

const patience = { deadlineMs: 5_000, retryForMs: 30_000 };

async function tablesOf(handlers: Record<string, Handler>, create = true, times = patience) {
  const service = await TestService.start(handlers);
  const admin = new Transport({
    address: service.host,
    credentials: credentials.createInsecure(),
    connections: 1,
  });
  ended.push(() => {
    admin.close();
    service[Symbol.dispose]();
  });
  const location = parseLocation("bigtable://p/i?profile=mine");
  const options = { location, admin, emulator: false, create, environment: systemEnvironment, ...times };
  return { service, tables: new Tables(options) };
}

const fail = (code: status) => () => {
  throw new Failure(code);
};

const withRule = (gcRule: Plain) => () => ({
  ...usableTable,
  columnFamilies: { ...(usableTable.columnFamilies as Plain), data: { gcRule } },
});

describe("a table", () => {
  it("is checked once, then used", async () => {
    const { service, tables } = await tablesOf({});
    const [first, second] = await Promise.all([tables.need("t"), tables.need("t")]);
    expect(first).toBe(second);
    expect(tables.known("t")).toBe(first);
    expect(service.count("GetTable")).toBe(1);
    expect(service.calls[0]?.request).toEqual({ name: "projects/p/instances/i/tables/t", view: 2 });
  });

  it.each<[string, Plain]>([
    ["versions", { maxNumVersions: 1 }],
    ["age", { maxAge: { seconds: 3_600 } }],
    ["several rules", { union: { rules: [{ maxNumVersions: 3 }] } }],
    ["all of several rules", { intersection: { rules: [{ maxNumVersions: 3 }] } }],
  ])("with garbage collection by %s is refused", async (_, rule) => {
    const { tables } = await tablesOf({ GetTable: withRule(rule) });
    await expect(tables.need("t")).rejects.toThrow("cbt setgcpolicy t data never");
    await expect(tables.find("t")).rejects.toMatchObject({ code: "STORE" });
    await expect(tables.plan("t")).rejects.toThrow("garbage collection rule");
    expect(tables.known("t")).toBeUndefined();
  });

  it("with an empty garbage collection rule, which means none, is used", async () => {
    const { tables } = await tablesOf({ GetTable: withRule({}) });
    await tables.need("t");
  });

  it("with another time unit is refused", async () => {
    const { tables } = await tablesOf({ GetTable: () => ({ ...usableTable, granularity: 7 }) });
    await expect(tables.need("t")).rejects.toThrow("milliseconds");
  });

  it("that is missing is created with four families and no rules, if allowed", async () => {
    const missing = fail(status.NOT_FOUND);
    const made = await tablesOf({ GetTable: missing, CreateTable: () => usableTable });
    await made.tables.need("~hints");
    expect(made.service.calls.at(-1)?.request).toEqual({
      parent: "projects/p/instances/i",
      tableId: "_.7ehints",
      table: { columnFamilies: { lock: {}, write: {}, data: {}, txn: {} }, granularity: 1 },
    });
    const kept = await tablesOf({ GetTable: missing, CreateTable: () => usableTable }, false);
    await expect(kept.tables.need("t")).rejects.toThrow("percolator init");
    expect(await kept.tables.find("t")).toBeUndefined();
    expect(kept.service.count("CreateTable")).toBe(0);
    const refused = await tablesOf({ GetTable: missing, CreateTable: fail(status.PERMISSION_DENIED) });
    await expect(refused.tables.need("t")).rejects.toThrow(
      /may not create .* Run `percolator init` with an account that has roles\/bigtable.admin/,
    );
  });

  it("that another process creates meanwhile is checked", async () => {
    let there = false;
    const handlers: Record<string, Handler> = {
      GetTable: () => (there ? usableTable : fail(status.NOT_FOUND)()),
      CreateTable: () => {
        there = true;
        throw new Failure(status.ALREADY_EXISTS);
      },
    };
    const { tables } = await tablesOf(handlers);
    expect((await tables.need("t")).name).toBe("t");
  });

  it("of another origin lacks families: they are added, or it is refused", async () => {
    const handlers: Record<string, Handler> = {
      GetTable: () => ({ columnFamilies: { cf: {}, lock: {} }, granularity: 1 }),
      ModifyColumnFamilies: () => usableTable,
    };
    const added = await tablesOf(handlers);
    await added.tables.need("t");
    const modifications = ["write", "data", "txn"].map((id) => ({ id, create: {} }));
    expect(added.service.calls.at(-1)?.request).toMatchObject({ modifications });
    const refused = await tablesOf(handlers, false);
    await expect(refused.tables.need("t")).rejects.toThrow('has no "write", "data", "txn" family');
    expect(await refused.tables.plan("t")).toMatchObject({ exists: true, missing: ["write", "data", "txn"] });
  });

  it("to which another process adds one of the missing families gets the others", async () => {
    const families: Record<string, object> = { lock: {} };
    const { tables } = await tablesOf({
      GetTable: () => ({ columnFamilies: families, granularity: 1 }),
      ModifyColumnFamilies: (request) => {
        const { modifications } = request as { modifications: readonly { readonly id: string }[] };
        families.write = {};
        if (modifications.some(({ id }) => families[id] !== undefined)) fail(status.ALREADY_EXISTS)();
        for (const { id } of modifications) families[id] = {};
        return usableTable;
      },
    });
    await tables.need("t");
    expect(Object.keys(families).sort()).toEqual(["data", "lock", "txn", "write"]);
  });

  it("that the account may not read is refused, with the missing role", async () => {
    const { tables } = await tablesOf({ GetTable: fail(status.PERMISSION_DENIED) });
    await expect(tables.need("t")).rejects.toThrow("roles/bigtable.user");
  });
});

describe("while the service is unavailable", () => {
  const codes = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.INTERNAL, status.CANCELLED];
  /** Fails once with each code, then succeeds. */
  const afterOutage =
    (answer: Handler): Handler =>
    (request, call) => {
      const code = codes[call.index];
      if (code !== undefined) throw new Failure(code);
      return answer(request, call);
    };

  it("checking a table is retried until there is an answer", async () => {
    const { service, tables } = await tablesOf({ GetTable: afterOutage(() => usableTable) });
    expect((await tables.need("t")).name).toBe("t");
    expect(service.count("GetTable")).toBe(codes.length + 1);
  });

  it("a table is created once, even if the first answer was lost", async () => {
    let made = 0;
    const { service, tables } = await tablesOf({
      GetTable: () => (made > 0 ? usableTable : fail(status.NOT_FOUND)()),
      CreateTable: () => {
        throw new Failure(made++ === 0 ? status.UNAVAILABLE : status.ALREADY_EXISTS);
      },
    });
    expect((await tables.need("t")).name).toBe("t");
    expect(service.count("CreateTable")).toBe(2);
  });

  it("families are added once", async () => {
    const { service, tables } = await tablesOf({
      GetTable: () => ({ columnFamilies: { lock: {} }, granularity: 1 }),
      ModifyColumnFamilies: afterOutage(() => usableTable),
    });
    await tables.need("t");
    expect(service.count("ModifyColumnFamilies")).toBe(codes.length + 1);
  });

  it("reading an app profile is retried until there is an answer", async () => {
    const routing = { clusterId: "c", allowTransactionalWrites: true };
    const { tables } = await tablesOf({
      GetAppProfile: afterOutage(() => ({ singleClusterRouting: routing })),
    });
    await tables.checkProfile();
  });

  it("the final error is retryable; a refusal is thrown at once and is not retryable", async () => {
    const times = { deadlineMs: 200, retryForMs: 400 };
    const away = await tablesOf({ GetTable: fail(status.UNAVAILABLE) }, true, times);
    await expect(away.tables.need("t")).rejects.toMatchObject({ code: "STORE", retryable: true });
    expect(away.service.count("GetTable")).toBeGreaterThan(1);
    const refused = await tablesOf({ GetTable: fail(status.PERMISSION_DENIED) });
    await expect(refused.tables.need("t")).rejects.toMatchObject({ code: "STORE", retryable: false });
    expect(refused.service.count("GetTable")).toBe(1);
  });

  it("nothing is retried once a caller waits for the close", async () => {
    const { service, tables } = await tablesOf({
      GetTable: () => {
        tables.stopRepeating();
        throw new Failure(status.UNAVAILABLE);
      },
    });
    await expect(tables.need("t")).rejects.toMatchObject({ retryable: true });
    expect(service.count("GetTable")).toBe(1);
  });
});

describe("an app profile", () => {
  it.each<[string, Handler, string]>([
    [
      "that goes to any cluster",
      () => ({ name: "x", multiClusterRoutingUseAny: {} }),
      "single-cluster routing and transactional writes",
    ],
    [
      "without transactional writes",
      () => ({ name: "x", singleClusterRouting: { clusterId: "c" } }),
      "does not allow transactional writes",
    ],
    ["that is not there", fail(status.NOT_FOUND), "check the location"],
    ["that may not be looked at", fail(status.PERMISSION_DENIED), "roles/bigtable.user"],
  ])("%s is refused", async (_, handler, why) => {
    const { tables } = await tablesOf({ GetAppProfile: handler });
    await expect(tables.checkProfile()).rejects.toThrow(why);
  });

  it("of one cluster with single-row transactions is used", async () => {
    const routing = { clusterId: "c", allowTransactionalWrites: true };
    const { service, tables } = await tablesOf({ GetAppProfile: () => ({ singleClusterRouting: routing }) });
    await tables.checkProfile();
    expect(service.calls[0]?.request).toEqual({ name: "projects/p/instances/i/appProfiles/mine" });
  });
});

describe("opening", () => {
  it.each(["localhost", "http://localhost:1", "host:port"])(
    "refuses %s as an emulator",
    async (emulatorHost) => {
      await expect(openBigtableStore("bigtable://p/i", { emulatorHost })).rejects.toThrow("HOST:PORT");
    },
  );

  it.each([{ deadlineMs: 0 }, { connections: Number.NaN }])("refuses the option %j", async (options) => {
    await expect(
      openBigtableStore("bigtable://p/i", { emulatorHost: "a:1", ...options }),
    ).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });
});
