import { beforeEach, describe, expect, it } from "vitest";
import { MadeCertificate } from "../../../../test/deploy/certificates.js";
import {
  type CommandLine,
  eventually,
  type Printed,
  type RunningCommand,
} from "../../../../test/support/command-line.js";
import { libraryCommandLine } from "../../../../test/support/library.js";
import { type CoordinatorClient, connectCoordinator } from "../../../coordinator/index.js";
import { systemEnvironment as environment } from "../../../environment/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const eventsOf = ({ stdout }: RunningCommand) =>
  (stdout as Printed).text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const start = async (...args: string[]) => {
  const command = cli.start(["coordinator", "data", "--json", "--lease", "1s", ...args]);
  await eventually(() => expect(eventsOf(command)[0]).toMatchObject({ event: "listening" }));
  return { command, address: eventsOf(command)[0]!.address as string };
};

const withClient = async <T>(
  address: string,
  token: string | undefined,
  use: (client: CoordinatorClient) => Promise<T>,
): Promise<T> => {
  await using client = connectCoordinator({ environment, addresses: [address], token });
  return await use(client);
};

describe("coordinator", () => {
  it("serves sessions and claims of a folder until a signal; then a standby takes over at once", async () => {
    const first = await start("--lease", "1h");
    await eventually(() =>
      expect(eventsOf(first.command).at(-1)).toMatchObject({ event: "leading", epoch: 1 }),
    );
    const second = await start("--lease", "1h");
    await eventually(() =>
      expect(eventsOf(second.command).at(-1)).toMatchObject({ event: "standby", leader: first.address }),
    );
    // A standby redirects its clients to the leader.
    await withClient(second.address, undefined, async ({ cluster, oracle }) => {
      await cluster.join("session");
      await eventually(async () => expect(await cluster.alive("session")).toBe(true));
      await expect(oracle.next()).rejects.toMatchObject({
        code: "COORDINATOR",
        message: expect.stringContaining("assigns them itself"),
      });
    });
    first.command.signal("SIGTERM");
    expect(await first.command.outcome).toMatchObject({ code: 0, stderr: "" });
    const time = expect.any(String);
    // Whether the coordinator was already the leader when it printed its address depends on timing.
    expect(eventsOf(first.command).filter(({ event }) => event !== "standby")).toEqual([
      { event: "listening", time, address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
      { event: "leading", time, epoch: 1 },
      { event: "stopping", time, signal: "SIGTERM" },
      { event: "stopped", time },
    ]);
    await eventually(() =>
      expect(eventsOf(second.command).at(-1)).toMatchObject({ event: "leading", epoch: 2 }),
    );
    second.command.signal("SIGINT");
    expect(await second.command.outcome).toMatchObject({ code: 0 });
  });

  it("takes a token from a file", async () => {
    await cli.write("tokens", "old-token\nnew-token\n");
    const { command, address } = await start("--token-file", "tokens");
    for (const token of ["old-token", "new-token"]) {
      await withClient(address, token, ({ cluster }) => cluster.join("session"));
    }
    await withClient(address, "guess", async ({ cluster }) => {
      await expect(cluster.join("session")).rejects.toMatchObject({ code: "COORDINATOR", reason: "token" });
    });
    command.signal("SIGTERM");
    await command.outcome;
  });

  it("uses changed tokens and certificates while it runs, ignores a broken file, and warns", async () => {
    const names = ["localhost", "coordinator.test"];
    const [soon, later] = [new MadeCertificate(names, 5), new MadeCertificate(names, 90)];
    try {
      await cli.write("tokens", "old-token\n");
      await cli.write("cert.pem", soon.cert);
      await cli.write("key.pem", soon.key);
      const tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--advertise", "localhost:4100"];
      const { command } = await start("--token-file", "tokens", ...tls);
      const events = (name: string) => eventsOf(command).filter(({ event }) => event === name);
      await eventually(() => expect(events("expiring")).toMatchObject([{ days: 4 }]));
      await cli.write("cert.pem", later.cert);
      await eventually(() =>
        expect(events("failed").at(-1)).toMatchObject({
          error: expect.stringContaining("does not belong to"),
        }),
      );
      await cli.write("key.pem", later.key);
      await eventually(() => expect(events("replaced")).toHaveLength(1));
      await cli.write("tokens", "old-token\nnew-token\n");
      await eventually(() => expect(events("replaced")).toHaveLength(2));
      expect(events("expiring")).toHaveLength(1);
      command.signal("SIGTERM");
      expect(await command.outcome).toMatchObject({ code: 0 });
    } finally {
      for (const each of [soon, later]) each.remove();
    }
  });

  it("serves its metrics at the given address", async () => {
    const { command } = await start("--metrics", "0");
    const { metrics } = eventsOf(command)[0] as { readonly metrics: string };
    await eventually(async () =>
      expect(await (await fetch(metrics)).text()).toContain("percolator_coordinator_leads 1"),
    );
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 0, stderr: "" });
    await expect(fetch(metrics)).rejects.toThrow();
  });

  it("prints lines with their time for people", async () => {
    const command = cli.start(["coordinator", "data"]);
    await eventually(() => expect((command.stdout as Printed).text).toContain("leading"));
    command.signal("SIGTERM");
    const { lines } = await command.outcome;
    const texts = lines.map((line) => line.replace(/^\S+Z /, "").replace(/:\d+$/, ":PORT"));
    expect(texts.filter((text) => text !== "standing by")).toEqual([
      "listening at 127.0.0.1:PORT",
      "leading, epoch 1",
      "SIGTERM: giving the lease back",
      "stopped",
    ]);
  });

  it.each([
    [["--listen", "0.0.0.0:0"], "advertise"],
    [["--listen", "0.0.0.0:0", "--advertise", "10.0.0.7:4100"], "without TLS and a token"],
    [["--listen", "nowhere"], "HOST:PORT"],
    [["--metrics", "0.0.0.0:0"], "--metrics-token-file"],
    [["--token-file", "missing"], "missing"],
    [["--token-file", "empty"], "no token"],
    [["--tls-cert", "cert.pem"], "--tls-key"],
    [["--lease", "soon"], "--lease"],
  ])("refuses %j", async (args, message) => {
    await cli.write("empty", "\n");
    const { code, stdout, stderr } = await cli.run(["coordinator", "data", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  it("creates no database", async () => {
    expect(await cli.run(["coordinator", "nowhere"])).toMatchObject({ code: 1, stdout: "" });
  });
});
