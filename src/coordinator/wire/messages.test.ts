import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CoordinatorError } from "../../errors/index.js";
import { lastTimestamp } from "../../oracle/index.js";
import { coordinatorLimits as limits } from "../limits.js";
import type { Codec } from "./message-codec.js";
import * as messages from "./messages.js";

const key = fc.uint8Array({ maxLength: 40 });
const name = fc.string({ minLength: 1, maxLength: limits.sessionName, unit: "grapheme-ascii" });
const step = fc.oneof(
  fc.record({ type: fc.constant("claim" as const), key }),
  fc.record({ type: fc.constant("release" as const), key }),
  fc.record({ type: fc.constantFrom("busy" as const, "quiet" as const) }),
);
const join = fc.record({ session: name, busy: fc.boolean(), claims: fc.array(key) });

interface Kind<T> {
  readonly codec: Codec<T>;
  readonly value: fc.Arbitrary<T>;
}

const kind = <T>(codec: Codec<T>, value: fc.Arbitrary<T>): Kind<unknown> =>
  ({ codec, value }) as unknown as Kind<unknown>;

const whole = (most: number) => fc.integer({ min: 1, max: most });
const kinds = {
  timestampRequest: kind(messages.timestampRequest, whole(limits.timestamps)),
  timestampRange: kind(
    messages.timestampRange,
    fc.record({ first: fc.maxSafeInteger().map(Math.abs).map(within), count: whole(limits.timestamps) }),
  ),
  sessionRequest: kind(
    messages.sessionRequest,
    fc.record({ join: fc.option(join, { nil: undefined }), steps: fc.array(step) }),
  ),
  sessionReply: kind(
    messages.sessionReply,
    fc.record({ epoch: fc.option(name, { nil: undefined }), granted: fc.array(fc.boolean()) }),
  ),
  aliveRequest: kind(messages.aliveRequest, fc.array(name)),
  aliveReply: kind(messages.aliveReply, fc.array(fc.constantFrom(true, false, undefined))),
  activityReply: kind(
    messages.activityReply,
    fc.record({
      epoch: name,
      busyPeriods: fc.maxSafeInteger().map(Math.abs),
      sessions: fc.array(name),
      busy: fc.array(name),
    }),
  ),
  healthRequest: kind(messages.healthRequest, fc.record({ service: fc.string({ unit: "grapheme-ascii" }) })),
  healthResponse: kind(messages.healthResponse, fc.record({ status: fc.integer({ min: 0, max: 3 }) })),
};

function within(timestamp: number): number {
  return Math.min(Math.max(timestamp, 1), lastTimestamp);
}

/** Turns every kind of byte array into a plain array, so that they compare as equal. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}

describe.each(Object.entries(kinds))("%s", (_, { codec, value }) => {
  test("decodes to the sent message", () => {
    fc.assert(
      fc.property(value, (message) => {
        expect(plain(codec.decode(codec.encode(message)))).toEqual(plain(message));
      }),
    );
  });

  test("any bytes decode to a valid message, or give a named error", () => {
    const mutated = fc
      .tuple(value, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }), fc.nat())
      .map(([message, changes, cut]) => {
        const bytes = Buffer.from(codec.encode(message));
        for (const [place, byte] of changes) if (bytes.length > 0) bytes[place % bytes.length] = byte;
        return cut % 3 === 0 ? bytes.subarray(0, cut % (bytes.length + 1)) : bytes;
      });
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 200 })), (bytes) => {
        const received = codec.decode(bytes);
        if (received instanceof CoordinatorError) {
          expect(received.reason).toBe("message");
          return;
        }
        // A message that the decoder accepts must survive another round trip.
        expect(plain(codec.decode(codec.encode(received)))).toEqual(plain(received));
      }),
      { numRuns: 500 },
    );
  });
});

describe("limits", () => {
  const long = "x".repeat(limits.sessionName + 1);
  test.each([
    ["timestamps", messages.timestampRequest, limits.timestamps + 1],
    ["no timestamps", messages.timestampRequest, 0],
    ["a timestamp above the last", messages.timestampRange, { first: lastTimestamp + 1, count: 1 }],
    ["a session's name", messages.aliveRequest, [long]],
    [
      "a session without a name",
      messages.sessionRequest,
      { join: { session: "", busy: false, claims: [] }, steps: [] },
    ],
    ["sessions", messages.aliveRequest, Array(limits.asked + 1).fill("s")],
    [
      "a claim",
      messages.sessionRequest,
      { steps: [{ type: "claim", key: Buffer.alloc(limits.claimBytes + 1) }] },
    ],
    ["steps", messages.sessionRequest, { steps: Array(limits.steps + 1).fill({ type: "busy" }) }],
    [
      "claims",
      messages.sessionRequest,
      {
        join: { session: "s", busy: false, claims: Array(limits.claimsOfSession + 1).fill(Buffer.alloc(1)) },
        steps: [],
      },
    ],
  ])("%s", (_, codec, message) => {
    expect((codec as Codec<unknown>).decode((codec as Codec<unknown>).encode(message))).toBeInstanceOf(
      CoordinatorError,
    );
  });
});
