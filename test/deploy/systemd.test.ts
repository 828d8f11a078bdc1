import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commandLines, flagValue } from "./commands.js";
import { deployed, seconds, unit } from "./files.js";

const names = ["percolator-coordinator.service", "percolator-worker@.service"];

describe.each(names)("%s", (name) => {
  const { Unit, Service, Install } = unit(name);

  test("has its sections, always restarts, and has minimal privileges", () => {
    expect(Unit!.After![0]).toContain("network-online.target");
    expect(Unit!.StartLimitIntervalSec).toEqual(["0"]);
    expect(Service!.Restart).toEqual(["always"]);
    expect(Service!.KillSignal).toEqual(["SIGTERM"]);
    expect(Service!.NoNewPrivileges).toEqual(["yes"]);
    expect(Service!.ProtectSystem).toEqual(["strict"]);
    expect(Service!.SystemCallFilter).toEqual(["@system-service"]);
    expect(Service!.SystemCallErrorNumber).toEqual(["EPERM"]);
    expect(Service!.DynamicUser ?? Service!.User).not.toEqual(["root"]);
    expect(Install!.WantedBy).toEqual(["multi-user.target"]);
  });

  test("reads only credentials that it loads", () => {
    const loaded = Service!.LoadCredential!.map((each) => each.split(":")[0]);
    const read = [...deployed(`systemd/${name}`).matchAll(/%d\/([\w.]+)/g)].map(([, file]) => file!);
    expect([...new Set(read)].sort()).toEqual([...loaded].sort());
  });

  test("passes systemd's own check", () => {
    const folder = mkdtempSync(join(tmpdir(), "percolator-units-"));
    try {
      // Replaces the program by another one, because it is not installed here.
      const text = deployed(`systemd/${name}`).replaceAll("/opt/percolator/bin/percolator", process.execPath);
      writeFileSync(join(folder, name), text);
      const ran = spawnSync("systemd-analyze", ["verify", "--man=no", join(folder, name)], {
        encoding: "utf8",
      });
      if (ran.error !== undefined) {
        process.stderr.write(`NOT CHECKED: systemd-analyze is not there, so ${name} was not verified.\n`);
        return;
      }
      const about = ran.stderr.split("\n").filter((line) => line.includes("percolator"));
      expect(about).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

test("other users of the machine cannot read the folder that a worker makes", () => {
  const { Service } = unit("percolator-worker@.service");
  expect(Service!.UMask).toEqual(["0077"]);
});

test("a worker has time to drain, and its first process forwards the signal", () => {
  const { Service } = unit("percolator-worker@.service");
  const line = commandLines().find(({ from }) => from === "systemd, percolator-worker@.service")!;
  const stop = seconds(Service!.TimeoutStopSec![0]!);
  expect(stop).toBeGreaterThanOrEqual(seconds(flagValue(line, "--drain-deadline")) + 10);
  expect(Service!.KillMode).toEqual(["mixed"]);
});

test("the file next to the units creates the workers' user", () => {
  const { Service } = unit("percolator-worker@.service");
  const made = [...deployed("systemd/percolator.conf").matchAll(/^u (\S+) - "[^"]+" (\S+) \S+$/gm)];
  expect(made.map(([, name, home]) => [name, home])).toEqual([
    [Service!.User![0], Service!.WorkingDirectory![0]],
  ]);
  expect(Service!.Group).toEqual(Service!.User);
});
