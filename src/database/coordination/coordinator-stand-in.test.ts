import { createServer } from "node:net";
import { expect, test } from "vitest";
import {
  authority,
  certificate,
  key,
  otherCertificate,
} from "../../../test/support/coordinator/certificates.js";
import { type Coordinator, connectCoordinator, startCoordinator } from "../../coordinator/index.js";
import { systemEnvironment } from "../../environment/index.js";
import { type LeaderFailure, readLease } from "../../oracle/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { TestClock } from "../../testing/index.js";
import { open } from "../open.js";
import type { CoordinatorChoice } from "./coordinator-choice.js";
import { CoordinatorStandIn } from "./coordinator-stand-in.js";

test("a coordinator that could not be started is started at a later attempt", async () => {
  const clock = new TestClock();
  const store = memoryStore({ atomicBatches: false });
  const place = { store, environment: clock.process() };
  const isLed = async () => ((await readLease({ ...place, timeoutMs: 1_000 }))?.name ?? "") !== "";
  const other = await startCoordinator(place);
  await expect.poll(isLed).toBe(true);

  const occupant = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => occupant.once("listening", resolve));
  const { port } = occupant.address() as { port: number };
  let told = (_: LeaderFailure) => {};
  const failed = new Promise<LeaderFailure>((resolve) => {
    told = resolve;
  });
  const choice = { start: true, listen: `127.0.0.1:${port}` };
  const standIn = new CoordinatorStandIn({ ...place, choice, onFailure: (failure) => told(failure) });
  await standIn.open(async () => true);
  await other.stop();
  await clock.advance(10_000);
  expect((await failed).error).toMatchObject({ message: expect.stringContaining("cannot listen") });

  await new Promise((resolve) => occupant.close(resolve));
  await clock.advance(5_000);
  await expect.poll(isLed).toBe(true);
  await standIn.close();
});

test("a coordinator that takes the place of a dead one does not wait for its lease again", async () => {
  const clock = new TestClock();
  const store = memoryStore({ atomicBatches: false });
  const environment = clock.process();
  const leader = async () => (await readLease({ store, environment, timeoutMs: 1_000 }))?.name;
  const dying = clock.process();
  const other = await startCoordinator({ store, environment: dying });
  await expect.poll(leader).toBe(other.address);
  const choice = { start: true };
  const standIn = new CoordinatorStandIn({ store, environment, choice, onFailure: () => undefined });
  await standIn.open(async () => true);
  dying.die();
  // The lease, the time in which a standby could have taken it, and the time until the next look.
  await clock.advance(10_000 + 5_000 + 5_000);
  await expect.poll(async () => (await leader()) !== other.address).toBe(true);
  await standIn.close();
});

const place = () => ({ store: memoryStore({ atomicBatches: false }), environment: systemEnvironment });

test("a running coordinator takes changed tokens, several of them, and reports unusable ones", async () => {
  const { store, environment } = place();
  const failures: LeaderFailure[] = [];
  let token: string | readonly string[] = "old";
  const choice: CoordinatorChoice = { start: true, token: () => token };
  const standIn = new CoordinatorStandIn({
    store,
    environment,
    choice,
    onFailure: (each) => failures.push(each),
  });
  await standIn.open(async () => false);
  try {
    const served = async (shown: string) => {
      await using client = connectCoordinator({ store, environment, token: shown });
      return (await client.cluster.activity()) !== undefined;
    };
    await expect.poll(() => served("old")).toBe(true);
    token = ["old", "new"];
    await expect.poll(() => served("new")).toBe(true);
    expect(await served("old")).toBe(true);
    token = "new";
    await expect.poll(() => served("old")).toBe(false);
    token = "two words";
    await expect.poll(() => failures.map(({ error }) => String(error)).join()).toContain("printable ASCII");
    expect(await served("new")).toBe(true);
  } finally {
    await standIn.close();
  }
});

test("a database whose coordinator takes another certificate continues", async () => {
  const { store, environment } = place();
  let cert = certificate;
  const choice: CoordinatorChoice = {
    start: true,
    tls: () => ({ ca: authority }),
    serverTls: () => ({ cert, key }),
  };
  const failures: string[] = [];
  await using db = await open(store, { coordinator: choice });
  db.on("backgroundFailure", ({ error }) => failures.push(String(error)));
  const served = async (serverName: string) => {
    await using client = connectCoordinator({ store, environment, tls: { ca: authority, serverName } });
    return (await client.cluster.activity()) !== undefined;
  };
  expect(await served("elsewhere.test")).toBe(false);
  cert = "no certificate";
  await expect.poll(() => failures.join()).toContain("PEM");
  cert = otherCertificate;
  await expect.poll(() => served("elsewhere.test")).toBe(true);
  await db.transact(async () => undefined);
});

test.each<[string, CoordinatorChoice, RegExp]>([
  ["TLS, which the coordinator would not speak", { tls: { ca: authority } }, /PERCOLATOR_TLS_CA.*serverTls/],
  ["TLS by a function", { tls: () => ({ ca: authority }) }, /PERCOLATOR_TLS_CA/],
  ["a certificate and no TLS", { serverTls: { cert: certificate, key } }, /Give `tls` as well/],
])("no coordinator is started with %s", async (_, choice, message) => {
  const { store } = place();
  const opening = open(store, { coordinator: { start: true, ...choice } });
  await expect(opening).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringMatching(message),
  });
});

test("with TLS the coordinator that is the leader is used, and none is started", async () => {
  const { store, environment } = place();
  let leading = () => {};
  const leads = new Promise<void>((resolve) => {
    leading = resolve;
  });
  const onChange = ({ role }: Coordinator["status"]) => {
    if (role === "leading") leading();
  };
  await using _coordinator = await startCoordinator({
    store,
    environment,
    tls: { cert: certificate, key },
    onChange,
  });
  await leads;
  await using db = await open(store, { coordinator: { start: true, tls: { ca: authority } } });
  expect((await db.status()).coordinator).toMatchObject({ answers: true });
});
