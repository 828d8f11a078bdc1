import { generateKeyPairSync } from "node:crypto";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  authority,
  certificate,
  key,
  otherCertificate,
} from "../../test/support/coordinator/certificates.js";
import { Coordinators } from "../../test/support/coordinator/coordinators.js";
import { systemEnvironment as environment } from "../environment/index.js";
import { Channel } from "./client/channel.js";
import { type CoordinatorClient, connectCoordinator } from "./client/client.js";
import type { ConnectOptions } from "./client/connect-options.js";
import type { CoordinatorOptions } from "./server/coordinator-options.js";
import { nothing } from "./wire/messages.js";
import { coordinatorService, healthService } from "./wire/service.js";

let all: Coordinators;

beforeEach(() => {
  all = new Coordinators();
});

afterEach(() => all.close());

const tls = { cert: certificate, key };

/** Returns whether a client with these options is served, or how it is refused. */
async function outcome(
  server: Partial<CoordinatorOptions>,
  client: Partial<ConnectOptions>,
): Promise<unknown> {
  const { address } = await all.lead(server);
  const { oracle, cluster } = all.client({ addresses: [address], ...client });
  const refusals = await Promise.all([
    oracle.next().then(
      () => "served",
      (error: unknown) => error,
    ),
    cluster.join("s").then(
      () => "served",
      (error: unknown) => error,
    ),
  ]);
  const first = refusals[0];
  expect(refusals[1]).toMatchObject(
    first instanceof Error ? { code: (first as { code?: string }).code } : {},
  );
  return first;
}

describe("TLS and tokens", () => {
  test.each<[string, Partial<CoordinatorOptions>, Partial<ConnectOptions>]>([
    ["TLS and the token", { tls, token: "secret" }, { tls: { ca: authority }, token: "secret" }],
    ["the new token while tokens change", { token: ["old", "new"] }, { token: "new" }],
    [
      "another name for the server",
      { tls: { ...tls, cert: otherCertificate } },
      { tls: { ca: authority, serverName: "elsewhere.test" } },
    ],
    [
      "a certificate of its own",
      { tls: { ...tls, ca: authority } },
      { tls: { ca: authority, cert: certificate, key } },
    ],
    ["a token where none is asked for", {}, { token: "secret" }],
  ])("serve a client with %s", async (_, server, client) => {
    expect(await outcome(server, client)).toBe("served");
  });

  test.each<[string, string, RegExp, Partial<CoordinatorOptions>, Partial<ConnectOptions>]>([
    ["a wrong token", "token", /same token/, { token: "secret" }, { token: "guess" }],
    ["no token", "token", /--token-file/, { token: "secret" }, {}],
    ["no TLS", "tls", /--tls-ca/, { tls }, {}],
    ["TLS where there is none", "tls", /does not/, {}, { tls: { ca: authority } }],
    ["another authority", "tls", /authority/, { tls }, { tls: true }],
    [
      "a certificate of another name",
      "tls",
      /altnames/,
      { tls: { ...tls, cert: otherCertificate } },
      { tls: { ca: authority } },
    ],
  ])("refuse a client with %s at once, with advice", async (_, reason, message, server, client) => {
    const refusal = await outcome(server, client);
    expect(refusal).toMatchObject({ code: "COORDINATOR", reason, message: expect.stringMatching(message) });
  });

  test("refuse a client of another version", async () => {
    const { address } = await all.lead();
    const channel = new Channel(address, { tls: undefined, token: undefined }, { version: "2" });
    const asked = channel.ask(coordinatorService.activity, nothing, new AbortController().signal);
    await expect(asked).rejects.toMatchObject({
      details: expect.stringContaining("same version of percolatordb"),
    });
    channel.drop();
  });

  test("distinguish a server that is not a coordinator from one that is unavailable", async () => {
    const server = new Server();
    server.addService(healthService, {});
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    const { oracle } = all.client({ addresses: [`127.0.0.1:${port}`] });
    await expect(oracle.next()).rejects.toMatchObject({ code: "COORDINATOR", reason: "version" });
    server.forceShutdown();
  });
});

describe("invalid options", () => {
  test.each<[RegExp, Partial<CoordinatorOptions>]>([
    [/HOST:PORT/, { listen: "4100" }],
    [/HOST:PORT/, { listen: "localhost:99999" }],
    [/HOST:PORT/, { advertise: "two words:1" }],
    [/advertise/, { listen: "[::]:0", tls, token: "secret" }],
    [/No client can connect to 0.0.0.0:4100/, { advertise: "0.0.0.0:4100" }],
    [/No client can connect to localhost:0/, { advertise: "localhost:0" }],
    [/without TLS and a token/, { listen: "0.0.0.0:0", advertise: "10.0.0.7:4100" }],
    [/without a token/, { listen: "0.0.0.0:0", advertise: "10.0.0.7:4100", tls }],
    [/without TLS/, { listen: "0.0.0.0:0", advertise: "10.0.0.7:4100", token: "secret" }],
    [
      /at least 16 characters/,
      { listen: "0.0.0.0:0", advertise: "10.0.0.7:4100", tls, token: ["0123456789abcdef", "secret"] },
    ],
    [/token/, { token: "two words" }],
    [/token/, { token: "" }],
    [/PEM/, { tls: { cert: "no certificate", key } }],
    [/leaseMs/, { leaseMs: 0 }],
    [/cannot listen/, { listen: "192.0.2.1:4100", insecure: true }],
    [/no option `lease`/, { lease: 5_000 } as object],
  ])("of a coordinator: %s", async (message, options) => {
    await expect(all.start(options)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(message),
    });
  });

  test("an open coordinator is allowed if requested", async () => {
    const { address } = await all.start({ listen: "0.0.0.0:0", advertise: "localhost:4100", insecure: true });
    expect(address).toBe("localhost:4100");
  });

  test.each<[RegExp, Partial<ConnectOptions>]>([
    [/`store`/, {}],
    [/1 to 100/, { addresses: [] }],
    [/HOST:PORT/, { addresses: ["4100"] }],
    [/token/, { addresses: ["localhost:1"], token: "two words" }],
    [/maxAtOnce/, { addresses: ["localhost:1"], maxAtOnce: 0 }],
    [/attemptMs/, { addresses: ["localhost:1"], attemptMs: 0 }],
    [/PEM/, { addresses: ["localhost:1"], tls: { ca: "no certificate" } }],
    [/no option `address`/, { addresses: ["localhost:1"], address: "localhost:1" } as object],
  ])("of a client: %s", (message, options) => {
    expect(() => connectCoordinator({ environment, ...options })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringMatching(message) }),
    );
  });
});

describe("secrets that change while a coordinator runs", () => {
  const outcomeOf = (client: CoordinatorClient) =>
    client.check(new AbortController().signal).then(
      () => "served",
      ({ reason }: { reason?: string }) => reason,
    );

  test("tokens, for clients and the coordinator, without a new connection", async () => {
    const coordinator = await all.lead({ token: "old" });
    let token = "old";
    const client = all.client({ addresses: [coordinator.address], token: () => token });
    expect(await outcomeOf(client)).toBe("served");
    coordinator.replace({ token: ["old", "new"] });
    token = "new";
    expect(await outcomeOf(client)).toBe("served");
    coordinator.replace({ token: "new" });
    expect(await outcomeOf(client)).toBe("served");
    token = "old";
    expect(await outcomeOf(client)).toBe("token");
  });

  test("a session whose first join was refused joins later, without being asked again", async () => {
    const coordinator = await all.lead({ token: "new" });
    let token = "old";
    let retry = () => {};
    const held: typeof environment = {
      ...environment,
      setTimer: (callback, delayMs, options) => {
        if (delayMs !== 10_000) return environment.setTimer(callback, delayMs, options);
        retry = callback;
        return { cancel: () => undefined };
      },
    };
    const options = { addresses: [coordinator.address], token: () => token, environment: held };
    const { cluster } = all.client(options);
    await expect(cluster.join("s")).rejects.toMatchObject({ reason: "token" });
    token = "new";
    const joined = cluster.join("s");
    retry();
    await joined;
    expect(await cluster.alive("s")).toBe(true);
  });

  test("the certificate, for later connections", async () => {
    const coordinator = await all.lead({ tls });
    const { certificateExpires } = coordinator;
    expect(certificateExpires).toBeGreaterThan(environment.now());
    const options = { addresses: [coordinator.address], tls: { ca: authority } };
    const before = all.client(options);
    expect(await outcomeOf(before)).toBe("served");
    coordinator.replace({ tls: { ...tls, cert: otherCertificate } });
    expect(await outcomeOf(before)).toBe("served");
    expect(await outcomeOf(all.client(options))).toBe("tls");
    const elsewhere = { ...options, tls: { ca: authority, serverName: "elsewhere.test" } };
    expect(await outcomeOf(all.client(elsewhere))).toBe("served");
  });

  test("unusable secrets change nothing", async () => {
    const coordinator = await all.lead({ tls, token: "secret" });
    expect(() => coordinator.replace({ tls: { ...tls, cert: "none" }, token: "secret" })).toThrow("not PEM");
    const other = { ...tls, cert: otherCertificate };
    expect(() => coordinator.replace({ tls: other, token: "a b" })).toThrow("printable");
    expect(() => coordinator.replace({ token: "secret" })).toThrow("Restart");
    const options = { addresses: [coordinator.address], tls: { ca: authority }, token: "secret" };
    expect(await outcomeOf(all.client(options))).toBe("served");
  });
});

test("a certificate that clients would refuse is refused at the start, with the reason", async () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const otherKey = privateKey.export({ type: "pkcs8", format: "pem" });
  await expect(all.start({ tls: { cert: certificate, key: otherKey } })).rejects.toThrow(
    "does not belong to",
  );
  const late = { ...environment, now: () => Date.parse("2200-01-01") };
  await expect(all.start({ tls, environment: late })).rejects.toThrow(/expired on 2126-10-28/);
  const early = { ...environment, now: () => Date.parse("2020-01-01") };
  await expect(all.start({ tls, environment: early })).rejects.toThrow("clock");
  await expect(all.start({ tls, advertise: "coordinator.elsewhere:4100" })).rejects.toThrow(
    /does not name coordinator\.elsewhere.*DNS:localhost/,
  );
  await all.start({ tls, advertise: "coordinator.test:4100" });
  const client = { addresses: ["127.0.0.1:1"], environment: late, tls: { cert: certificate, key } };
  expect(() => all.client(client)).toThrow("expired");
});
