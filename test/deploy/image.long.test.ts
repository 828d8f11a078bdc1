import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startEmulator } from "../support/emulator/index.js";
import { compose, objectOf, root } from "./files.js";
import { Image } from "./image.js";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

describe("the image's contents, run here", () => {
  let image: Image;

  beforeAll(() => {
    image = new Image();
  });

  afterAll(() => image.remove());

  /**
   * Runs the readiness probe of worker.yaml against a worker that has printed the address of its
   * metrics. Also checks that other requests are refused.
   */
  const untilReady = async (metrics: unknown) => {
    const { startupProbe, readinessProbe } = objectOf("Deployment", "percolator-worker").spec.template.spec
      .containers[0];
    for (const { httpGet } of [startupProbe, readinessProbe]) {
      const page = new URL(httpGet.path, String(metrics));
      await vi.waitFor(async () => expect((await fetch(page)).status).toBe(200), {
        timeout: 60_000,
        interval: 100,
      });
    }
    expect((await fetch(String(metrics))).status).toBe(401);
  };
  /** A long timeout, so that a request gets its answer however busy the machine is. */
  const patience = ["--timeout", "60000"];

  test("the entry point starts the program", () => {
    const { status, stdout } = image.run("--help");
    expect(status).toBe(0);
    for (const command of ["worker", "coordinator", "init", "status"])
      expect(stdout).toContain(`  ${command} `);
    expect(image.run("--version").stdout.trim()).toBe(manifest.version);
  });

  test("the sample application works in it; a worker is alive until it is stopped, and drains", async () => {
    const data = join(image.folder, "data");
    const app = image.path("/app/app.js");
    cpSync(join(root, "deploy/app.js"), app);
    expect(image.run("init", data, "--app", app).status).toBe(0);
    const token = join(image.folder, "metrics-token");
    writeFileSync(token, "a-token-of-enough-characters\n");
    const metrics = ["--metrics", "0", "--metrics-token-file", token];
    const worker = image.start("worker", data, app, "--drain-deadline", "30s", ...metrics, "--json");
    const started = await worker.event("started");
    await untilReady(started.metrics);
    for (const [row, contents] of [
      ["a", "one two three"],
      ["b", "four five six"],
      ["c", "seven"],
    ] as const) {
      expect(image.run("set", data, "documents.contents", row, contents).status).toBe(0);
    }
    await vi.waitFor(() => expect(image.run("get", data, "lengths.documents", "3").stdout.trim()).toBe("2"), {
      timeout: 60_000,
      interval: 100,
    });
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    await expect(fetch(String(started.metrics))).rejects.toThrow();
  });

  test("a coordinator is healthy while it serves, and a standby takes over", async () => {
    const data = join(image.folder, "led");
    expect(image.run("init", data).status).toBe(0);
    // No lease expires by itself, whatever delays the machine has.
    const options = ["--listen", "127.0.0.1:0", "--lease", "1h", "--json"];
    const first = image.start("coordinator", data, ...options);
    const { address } = await first.event("listening");
    await first.event("leading");
    const second = image.start("coordinator", data, ...options);
    const { address: other } = await second.event("listening");
    for (const each of [address, other]) {
      expect(image.node("/app/health.mjs", String(each), ...patience)).toMatchObject({
        status: 0,
        stderr: "",
      });
    }
    const leading = ["--service", "percolator.coordinator.v1.Coordinator/leader", ...patience];
    expect(image.node("/app/health.mjs", String(address), ...leading).status).toBe(0);
    expect(image.node("/app/health.mjs", String(other), ...leading)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("does not serve"),
    });
    first.child.kill("SIGTERM");
    expect(await first.ended).toBe(0);
    await second.event("leading");
    expect(image.node("/app/health.mjs", String(address)).status).toBe(1);
    expect(image.node("/app/health.mjs", String(other), ...leading).status).toBe(0);
    second.child.kill("SIGTERM");
    expect(await second.ended).toBe(0);
  });

  test("the cluster of compose.yaml, by its command lines, on a separate emulator", async () => {
    const emulator = await startEmulator();
    try {
      image.env.BIGTABLE_EMULATOR_HOST = emulator.host;
      cpSync(join(root, "deploy/app.js"), image.path("/app/app.js"));
      const { services } = compose();
      const location = "bigtable://local/local";
      expect(image.run(...services.init.command)).toMatchObject({ status: 0 });
      // Here all addresses are on one machine.
      const beginsOf = (name: string) => services[name].command.slice(0, 2);
      const coordinators = ["coordinator-1", "coordinator-2"].map((name) =>
        image.start(...beginsOf(name), "--listen", "127.0.0.1:0", "--json"),
      );
      for (const each of coordinators) {
        const { address } = await each.event("listening");
        expect(image.node("/app/health.mjs", String(address), ...patience).status).toBe(0);
      }
      const worker = image.start(...services.worker.command, "--json");
      await worker.event("started");
      expect(image.run("set", location, "documents.contents", "a", "one two three").status).toBe(0);
      await vi.waitFor(
        () => expect(image.run("get", location, "lengths.documents", "3").stdout.trim()).toBe("1"),
        { timeout: 60_000, interval: 100 },
      );
      for (const { child, ended } of [worker, ...coordinators]) {
        child.kill("SIGTERM");
        expect(await ended).toBe(0);
      }
    } finally {
      delete image.env.BIGTABLE_EMULATOR_HOST;
      await emulator.stop();
    }
  });

  test("probes refuse invalid arguments", () => {
    expect(image.node("/app/health.mjs").status).toBe(2);
  });
});
