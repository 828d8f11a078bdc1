import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { CommandLine, Printed } from "../../test/support/command-line.js";
import { systemEnvironment } from "../environment/index.js";
import { Cli } from "./cli.js";
import { coordinatorArguments, coordinatorOf } from "./coordinator-flags.js";

async function cliWith(env: Record<string, string> = {}): Promise<Cli> {
  const line = await CommandLine.create();
  await line.write("token", "\n first \nsecond\n");
  await line.write("empty", "\n");
  await line.write("ca.pem", "authority");
  return new Cli({
    stdin: new PassThrough(),
    stdout: new Printed(),
    stderr: new Printed(),
    cwd: line.folder,
    environment: systemEnvironment,
    env,
    onSignal: () => () => undefined,
  });
}

const remote = "bigtable://project/instance";

describe("what a command is told of the coordinator", () => {
  it("nothing: a folder has none, and a store elsewhere looks for it", async () => {
    const cli = await cliWith();
    expect(await coordinatorOf(cli, "data")).toBeUndefined();
    expect(await coordinatorOf(cli, remote)).toBeUndefined();
    expect(await coordinatorOf(cli, "data", { tokenFile: "token" })).toBeUndefined();
    expect(await coordinatorOf(cli, remote, { tokenFile: "token" })).toEqual({ token: "first" });
  });

  it("none, auto, or addresses, with the token and TLS", async () => {
    const cli = await cliWith();
    const secrets = { tokenFile: "token", tlsCa: "ca.pem" };
    const tls = { ca: "authority" };
    expect(await coordinatorOf(cli, remote, { coordinator: "none", ...secrets })).toBe(false);
    expect(await coordinatorOf(cli, "data", { coordinator: "auto", ...secrets })).toEqual({
      start: true,
      token: "first",
      tls,
    });
    expect(await coordinatorOf(cli, "data", { coordinator: "a:1,b:2", tls: true })).toEqual({
      addresses: ["a:1", "b:2"],
      tls: true,
    });
  });

  it("goes by the variables where flags say nothing", async () => {
    const cli = await cliWith({
      PERCOLATOR_COORDINATOR: "a:1",
      PERCOLATOR_TOKEN_FILE: "token",
      PERCOLATOR_TLS_CA: "",
    });
    expect(await coordinatorOf(cli, "data")).toEqual({ addresses: ["a:1"], token: "first" });
    expect(await coordinatorOf(cli, "data", { coordinator: "none" })).toBe(false);
  });

  it.each([
    [{ tokenFile: "missing" }, "--token-file cannot be read"],
    [{ tokenFile: "empty" }, "holds no token"],
    [{ tlsCert: "ca.pem" }, "--tls-key"],
  ])("refuses %j", async (flags, message) => {
    const cli = await cliWith();
    await expect(coordinatorOf(cli, remote, flags)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(message),
    });
  });

  it("is handed on to other processes as it was given", () => {
    const flags = { coordinator: "a:1", tokenFile: "t", tlsCa: "c", tls: true };
    expect(coordinatorArguments(flags)).toEqual(
      "--coordinator a:1 --token-file t --tls-ca c --tls".split(" "),
    );
    expect(coordinatorArguments({})).toEqual([]);
  });
});
