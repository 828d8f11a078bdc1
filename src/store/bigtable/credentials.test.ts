import { afterEach, describe, expect, it, vi } from "vitest";
import { type AuthClient, callCredentials, findEndpoint } from "./credentials.js";

afterEach(() => vi.unstubAllEnvs());

const client = (headers: Headers | Record<string, string>): AuthClient => ({
  getRequestHeaders: async () => headers,
});

describe("the endpoint", () => {
  it("is the emulator's where one is named, by the option before the environment", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "127.0.0.1:1");
    expect(await findEndpoint(undefined, undefined)).toMatchObject({ data: "127.0.0.1:1", emulator: true });
    expect(await findEndpoint("127.0.0.1:2", undefined)).toMatchObject({
      admin: "127.0.0.1:2",
      emulator: true,
    });
  });

  it("is the service's elsewhere, with credentials", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "");
    expect(await findEndpoint(undefined, client({}))).toMatchObject({
      data: "bigtable.googleapis.com:443",
      admin: "bigtableadmin.googleapis.com:443",
      emulator: false,
    });
  });

  it("is none without credentials, and says where they may come from", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "");
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json");
    await expect(findEndpoint(undefined, undefined)).rejects.toThrow("set GOOGLE_APPLICATION_CREDENTIALS");
  });
});

describe("credentials of a call", () => {
  const options = { service_url: "https://bigtable.googleapis.com/", method_name: "ReadRows" };

  it.each<[string, Headers | Record<string, string>]>([
    ["a Headers", new Headers({ authorization: "Bearer token", "x-goog-user-project": "p" })],
    ["an object", { authorization: "Bearer token", "x-goog-user-project": "p" }],
  ])("are what the library gives as %s", async (_, headers) => {
    const metadata = await callCredentials(client(headers)).generateMetadata(options);
    expect(metadata.getMap()).toEqual({ authorization: "Bearer token", "x-goog-user-project": "p" });
  });

  it("that cannot be had fail the call", async () => {
    const refusing: AuthClient = { getRequestHeaders: () => Promise.reject(new Error("expired")) };
    await expect(callCredentials(refusing).generateMetadata(options)).rejects.toThrow("expired");
  });
});
