import { Client, type ClientReadableStream } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Coordinators } from "../../../test/support/coordinator/coordinators.js";
import { systemEnvironment as environment } from "../../environment/index.js";
import { readLease } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { credentialsOf } from "../security/client-credentials.js";
import type { Received } from "../wire/message-codec.js";
import type { HealthResponse } from "../wire/messages.js";
import { healthService } from "../wire/service.js";
import { leaderServiceName, serviceName } from "../wire/service-names.js";

let all: Coordinators;

beforeEach(() => {
  all = new Coordinators();
});

afterEach(() => all.close());

const [serving, notServing, unknown] = [1, 2, 3];

/** A probe, which has an address but no token. */
class Probe {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(`dns:${address}`, credentialsOf({ tls: undefined, token: undefined }));
  }

  check(service: string): Promise<unknown> {
    const { path, requestSerialize, responseDeserialize } = healthService.check;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        { service },
        (error, reply) => {
          if (error === null) resolve((reply as HealthResponse).status);
          else reject(error);
        },
      );
    });
  }

  /** Collects the health states as they arrive. Adds `end` when the stream has ended. */
  watch(service: string): unknown[] {
    const { path, requestSerialize, responseDeserialize } = healthService.watch;
    const told: unknown[] = [];
    const stream: ClientReadableStream<Received<HealthResponse>> = this.#client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { service },
    );
    stream.on("data", (reply: HealthResponse) => told.push(reply.status));
    stream.on("end", () => told.push("end"));
    stream.on("error", () => told.push("error"));
    return told;
  }

  close(): void {
    this.#client.close();
  }
}

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 30_000, interval: 5 });

test("leader and standby serve; leadership is a separate service; nothing serves during a drain", async () => {
  const leader = await all.lead({ token: "secret" });
  const standby = await all.start({ token: "secret" });
  const [first, second] = [new Probe(leader.address), new Probe(standby.address)];
  expect([await first.check(""), await second.check(""), await second.check(serviceName)]).toEqual([
    serving,
    serving,
    serving,
  ]);
  expect([await first.check(leaderServiceName), await second.check(leaderServiceName)]).toEqual([
    serving,
    notServing,
  ]);
  await expect(first.check("another")).rejects.toMatchObject({ code: 5 });
  const [whole, other, leading] = [first.watch(""), first.watch("another"), second.watch(leaderServiceName)];
  await eventually(() => expect([whole, other, leading]).toEqual([[serving], [unknown], [notServing]]));
  await leader.stop();
  await eventually(() => expect(whole).toEqual([serving, notServing, "end"]));
  await eventually(() => expect(leading).toEqual([notServing, serving]));
  first.close();
  second.close();
});

/**
 * A store that can be unavailable. During an outage, requests wait until the store is back.
 * `replace` brings it back empty.
 */
class Outage {
  #store: RowStore = memoryStore({ atomicBatches: false });
  #back: Promise<void> | undefined;
  #release: () => void = () => undefined;

  readonly store: RowStore = Object.assign(Object.create(this.#store) as RowStore, {
    prepare: async (tables: readonly string[]) => {
      await this.#back;
      await this.#store.prepare(tables);
    },
    readRow: async (...read: Parameters<RowStore["readRow"]>) => {
      await this.#back;
      return await this.#store.readRow(...read);
    },
    mutate: async (...mutation: Parameters<RowStore["mutate"]>) => {
      await this.#back;
      return await this.#store.mutate(...mutation);
    },
  });

  begin(): void {
    this.#back = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  end(): void {
    this.#back = undefined;
    this.#release();
  }

  replace(): void {
    this.#store = memoryStore({ atomicBatches: false });
    this.end();
  }
}

test("a leader whose lease has expired does not serve, asked or watched, until the lease is renewed", async () => {
  const outage = new Outage();
  const failures: string[] = [];
  const options = { leaseMs: 200, onFailure: ({ doing }: { doing: string }) => failures.push(doing) };
  const leader = await all.lead({ store: outage.store, ...options });
  const probe = new Probe(leader.address);
  const watched = probe.watch(leaderServiceName);
  await eventually(() => expect(watched.at(-1)).toBe(serving));
  outage.begin();
  await eventually(() => expect(watched.at(-1)).toBe(notServing));
  // No other coordinator leads, and this one keeps trying to renew its lease. Its role is therefore
  // still that of a leader.
  expect([leader.status.role, leader.holdsLease]).toEqual(["leading", false]);
  expect(await probe.check(leaderServiceName)).toBe(notServing);
  expect(await probe.check("")).toBe(serving);
  const before = failures.length;
  await eventually(() => expect(failures.length).toBeGreaterThan(before + 1));
  outage.end();
  await eventually(() => expect(watched.at(-1)).toBe(serving));
  expect(leader.status.epoch).toBe(1);
  probe.close();
});

test("a leader whose store comes back empty serves again after it has taken the lease there", async () => {
  const outage = new Outage();
  const leader = await all.lead({ store: outage.store, leaseMs: 200 });
  const probe = new Probe(leader.address);
  const watched = probe.watch(leaderServiceName);
  await eventually(() => expect(watched.at(-1)).toBe(serving));
  outage.begin();
  await eventually(() => expect(watched.at(-1)).toBe(notServing));
  outage.replace();
  await eventually(() => expect(watched.at(-1)).toBe(serving));
  expect((await readLease({ store: outage.store, environment, timeoutMs: 30_000 }))?.name).toBe(
    leader.address,
  );
  probe.close();
});
