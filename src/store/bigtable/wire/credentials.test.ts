import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AuthClient } from "./auth-client.js";
import { callCredentials, findEndpoint } from "./credentials.js";

afterEach(() => vi.unstubAllEnvs());

const client = (headers: Headers | Record<string, string>): AuthClient => ({
  getRequestHeaders: async () => headers,
});

describe("the endpoint", () => {
  it("is the emulator's if one is named, by the option before the environment", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "127.0.0.1:1");
    expect(await findEndpoint({})).toMatchObject({ data: "127.0.0.1:1", emulator: true });
    expect(await findEndpoint({ emulatorHost: "127.0.0.1:2" })).toMatchObject({
      admin: "127.0.0.1:2",
      emulator: true,
    });
  });

  it("is otherwise the service's, with credentials", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "");
    expect(await findEndpoint({ auth: client({}) })).toMatchObject({
      data: "bigtable.googleapis.com:443",
      admin: "bigtableadmin.googleapis.com:443",
      emulator: false,
    });
  });

  it("is the one in the options, before an emulator of the environment, at port 443 by default", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "127.0.0.1:1");
    const auth = client({});
    expect(await findEndpoint({ auth, endpoint: "eu-bigtable.example.com" })).toMatchObject({
      data: "eu-bigtable.example.com:443",
      admin: "bigtableadmin.googleapis.com:443",
      emulator: false,
    });
    const named = { endpoint: "[::1]:8443", adminEndpoint: "10.0.0.7:8444" };
    expect(await findEndpoint({ auth, ...named })).toMatchObject({
      data: "[::1]:8443",
      admin: "10.0.0.7:8444",
    });
    await expect(findEndpoint({ auth, ...named, emulatorHost: "127.0.0.1:2" })).rejects.toThrow(
      "Give only one",
    );
    for (const endpoint of ["https://x.example.com", "", "x:port", "a b"])
      await expect(findEndpoint({ auth, endpoint })).rejects.toThrow("must be HOST or HOST:PORT");
  });

  it("is in the named universe domain, which must be that of the credentials", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "");
    const auth = { ...client({}), universeDomain: "example-universe.com" };
    const expected = {
      data: "bigtable.example-universe.com:443",
      admin: "bigtableadmin.example-universe.com:443",
    };
    expect(await findEndpoint({ auth, universeDomain: "example-universe.com" })).toMatchObject(expected);
    await expect(findEndpoint({ auth })).rejects.toThrow("universe domain example-universe.com");
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "example-universe.com");
    expect(await findEndpoint({ auth })).toMatchObject(expected);
    await expect(findEndpoint({ auth: client({}) })).rejects.toThrow("universe domain googleapis.com");
    await expect(findEndpoint({ auth, universeDomain: "x/y" })).rejects.toThrow("must be a domain");
  });

  it("is an error without credentials, which says where they may come from", async () => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "");
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json");
    await expect(findEndpoint({})).rejects.toThrow("set GOOGLE_APPLICATION_CREDENTIALS");
  });
});

describe("credentials of a call", () => {
  const options = { service_url: "https://bigtable.googleapis.com/", method_name: "ReadRows" };

  it.each<[string, Headers | Record<string, string>]>([
    ["a Headers", new Headers({ authorization: "Bearer token", "x-goog-user-project": "p" })],
    ["an object", { authorization: "Bearer token", "x-goog-user-project": "p" }],
  ])("are what the library returns as %s", async (_, headers) => {
    const metadata = await callCredentials(client(headers)).generateMetadata(options);
    expect(metadata.getMap()).toEqual({ authorization: "Bearer token", "x-goog-user-project": "p" });
  });

  // The library's errors have the HTTP status also as their code.
  it.each<[string, object, status]>([
    ["refused", { code: 400, status: 400 }, status.UNAUTHENTICATED],
    ["forbidden", { code: 403, status: 403 }, status.UNAUTHENTICATED],
    ["too many requests", { code: 429, status: 429 }, status.UNAVAILABLE],
    ["an outage", { code: 503, status: 503 }, status.UNAVAILABLE],
    ["no connection", { code: "ECONNREFUSED" }, status.UNAVAILABLE],
    ["another error", {}, status.UNAVAILABLE],
  ])("that are not available fail the call: %s", async (message, more, code) => {
    const failure = Object.assign(new Error(message), more);
    const failing: AuthClient = { getRequestHeaders: () => Promise.reject(failure) };
    await expect(callCredentials(failing).generateMetadata(options)).rejects.toMatchObject({ code, message });
  });
});

it.each<[string, unknown]>([
  ["a line break", { authorization: "Bearer token\n" }],
  ["letters beyond ASCII", new Headers({ authorization: "Bearer token", "x-goog-user-project": "projét" })],
  ["nothing", undefined],
])("headers that gRPC does not take fail the call: %s", async (_, headers) => {
  const auth = client(headers as Headers);
  const options = { service_url: "https://bigtable.googleapis.com/", method_name: "ReadRows" };
  await expect(callCredentials(auth).generateMetadata(options)).rejects.toBeInstanceOf(Error);
});
