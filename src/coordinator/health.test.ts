import { Client, type ClientReadableStream } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { credentialsOf } from "./client-options.js";
import type { Received } from "./codec.js";
import { leaderServiceName } from "./health.js";
import type { HealthResponse } from "./messages.js";
import { healthService, serviceName } from "./service.js";
import { Coordinators } from "./test-coordinators.js";

let all: Coordinators;

beforeEach(() => {
  all = new Coordinators();
});

afterEach(() => all.close());

const [serving, notServing, unknown] = [1, 2, 3];

/** What a probe has: an address, and no token. */
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

  /** What it is told, as it comes; `end` after the last. */
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

test("leader and standby serve; who leads is a service of its own; nothing serves while it drains", async () => {
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
