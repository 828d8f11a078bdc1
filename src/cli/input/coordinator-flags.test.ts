import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { CommandLine, eventually, Printed } from "../../../test/support/command-line.js";
import { systemEnvironment } from "../../environment/index.js";
import { Cli } from "../cli.js";
import { coordinatorArguments, coordinatorOf } from "./coordinator-flags.js";

async function cliWith(env: Record<string, string> = {}, environment = systemEnvironment): Promise<Cli> {
  const line = await CommandLine.create();
  await line.write("token", "\n first \nsecond\n");
  await line.write("empty", "\n");
  await line.write("ca.pem", "authority");
  return new Cli({
    stdin: new PassThrough(),
    stdout: new Printed(),
    stderr: new Printed(),
    cwd: line.folder,
    environment,
    env,
    onSignal: () => () => undefined,
  });
}

/**
 * Returns the options that `open` would receive. Each function among them is replaced by its
 * current result.
 */
async function toldOf(...asked: Parameters<typeof coordinatorOf>): Promise<unknown> {
  const told = await coordinatorOf(...asked);
  if (typeof told !== "object" || told === null) return told;
  const entries = Object.entries(told).map(([name, value]) => [
    name,
    typeof value === "function" ? value() : value,
  ]);
  return Object.fromEntries(entries);
}

const remote = "bigtable://project/instance";

describe("the coordinator options of a command", () => {
  it("without flags: a folder has no coordinator, and a remote store finds it by the lease", async () => {
    const cli = await cliWith();
    expect(await toldOf(cli, "data")).toBeUndefined();
    expect(await toldOf(cli, "file:///data", { tokenFile: "token" })).toBeUndefined();
    expect(await toldOf(cli, remote)).toBeUndefined();
    expect(await toldOf(cli, "data", { tokenFile: "token" })).toBeUndefined();
    expect(await toldOf(cli, remote, { tokenFile: "token" })).toEqual({ token: ["first", "second"] });
  });

  it("without flags: PostgreSQL has no coordinator, even if the environment has a token", async () => {
    const cli = await cliWith({ PERCOLATOR_TOKEN_FILE: "token", PERCOLATOR_TLS_CA: "ca.pem" });
    const place = "postgres://app@localhost/shop";
    expect(await toldOf(cli, place)).toBeUndefined();
    expect(await toldOf(cli, place, { coordinator: "a:1" })).toMatchObject({ addresses: ["a:1"] });
    expect(await toldOf(cli, place, { coordinator: "auto" })).toMatchObject({ start: true });
  });

  it("none, auto, or addresses, with the token and TLS", async () => {
    const cli = await cliWith();
    const secrets = { tokenFile: "token", tlsCa: "ca.pem" };
    const tls = { ca: "authority" };
    expect(await toldOf(cli, remote, { coordinator: "none", ...secrets })).toBe(false);
    expect(await toldOf(cli, "data", { coordinator: "auto", ...secrets })).toEqual({
      start: true,
      token: ["first", "second"],
      tls,
    });
    expect(await toldOf(cli, "data", { coordinator: "a:1,b:2", tls: true })).toEqual({
      addresses: ["a:1", "b:2"],
      tls: true,
    });
  });

  it("the token and the authority are read from their files on each use", async () => {
    const cli = await cliWith();
    const told = await coordinatorOf(cli, remote, { tokenFile: "token", tlsCa: "ca.pem" });
    const { token, tls } = told as { token: () => readonly string[]; tls: () => { ca: string } };
    expect([token(), tls().ca]).toEqual([["first", "second"], "authority"]);
    await writeFile(join(cli.io.cwd, "token"), "");
    await writeFile(join(cli.io.cwd, "ca.pem"), "another authority");
    await eventually(() => expect(tls().ca).toBe("another authority"));
    // The old tokens stay while the file is empty, because another process may be writing the file.
    expect(token()).toEqual(["first", "second"]);
    await writeFile(join(cli.io.cwd, "token"), "second\n");
    await eventually(() => expect(token()).toEqual(["second"]));
  });

  it("keep the authority while its file is empty", async () => {
    let nowMs = 0;
    const cli = await cliWith({}, { ...systemEnvironment, monotonic: () => nowMs });
    const told = await coordinatorOf(cli, remote, { tlsCa: "ca.pem" });
    const { tls } = told as { tls: () => { ca: string } };
    await writeFile(join(cli.io.cwd, "ca.pem"), "");
    nowMs += 1_000;
    expect(tls().ca).toBe("authority");
    await writeFile(join(cli.io.cwd, "ca.pem"), "another authority");
    nowMs += 1_000;
    expect(tls().ca).toBe("another authority");
  });

  it("come from the environment if there are no flags", async () => {
    const cli = await cliWith({
      PERCOLATOR_COORDINATOR: "a:1",
      PERCOLATOR_TOKEN_FILE: "token",
      PERCOLATOR_TLS_CA: "",
    });
    expect(await toldOf(cli, "data")).toEqual({ addresses: ["a:1"], token: ["first", "second"] });
    expect(await toldOf(cli, "data", { coordinator: "none" })).toBe(false);
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

  it("are passed on to other processes as given", () => {
    const flags = { coordinator: "a:1", tokenFile: "t", tlsCa: "c", tls: true };
    expect(coordinatorArguments(flags)).toEqual(
      "--coordinator a:1 --token-file t --tls-ca c --tls".split(" "),
    );
    expect(coordinatorArguments({})).toEqual([]);
  });
});
