import { expect, test, vi } from "vitest";
import { pause } from "../support/waiting.js";
import { OperatedCluster, type Served } from "./operated.js";
import { Truth, truthMs } from "./truth.js";

/**
 * Follows docs/operations.md word for word on the emulator, while everything fails that it
 * describes.
 */

const leading = "percolator.coordinator.v1.Coordinator/leader";
/** Longer than a lease, because a renewal may be in progress. */
const leaseMs = 13_000;

test("docs/operations.md is followed word for word while the store and the coordinator fail: no operation fails, and every status page tells the truth", async () => {
  using truth = new Truth();
  await using cluster = await OperatedCluster.start();
  vi.stubEnv("BIGTABLE_EMULATOR_HOST", cluster.emulator.host);
  try {
    await begin(cluster, truth);
    await changeToken(cluster);
    await changeCertificate(cluster, truth);
    await pauseStore(cluster, truth, 20_000);
    await loseLeader(cluster, truth, "SIGKILL");
    await cluster.addCoordinator();
    await loseLeader(cluster, truth, "SIGSTOP");
    await pauseStore(cluster, truth, 55_000);
    await rollWorker(cluster);
    await end(cluster);
  } finally {
    vi.unstubAllEnvs();
  }
}, 600_000);

async function begin(cluster: OperatedCluster, truth: Truth): Promise<void> {
  expect(await cluster.run("percolator init 'bigtable://PROJECT/INSTANCE?profile=percolator'")).toMatchObject(
    { code: 0 },
  );
  expect(await cluster.run("percolator init LOCATION --app APP")).toMatchObject({ code: 0 });
  await cluster.addCoordinator();
  await cluster.addCoordinator();
  await cluster.startWorker();
  await cluster.startLoad();
  await allIsWell(cluster, truth, truth.now);
  expect(await cluster.run("percolator doctor LOCATION APP --write")).toMatchObject({ code: 0 });
}

/** Every page and command says that the cluster works. */
async function allIsWell(
  cluster: OperatedCluster,
  truth: Truth,
  since: number,
  withinMs = truthMs,
): Promise<void> {
  const leader = cluster.leader();
  await truth.sample(leader, "coordinator_leads", since, 1, withinMs);
  const led = truth.now;
  const standbys = cluster.coordinators.filter((each) => each !== leader && !each.process.hasEnded);
  await Promise.all([
    truth.page(cluster.worker, "/readyz", led, 200, /^ok\n$/),
    truth.sample(cluster.worker, "store_answers", led, 1),
    truth.sample(cluster.worker, "coordinator_answers", led, 1),
    truth.sample(cluster.worker, "standing_stale", led, 0),
    truth.page(leader, "/readyz", led, 200, /^ok, leading\n$/),
    ...standbys.flatMap((standby) => [
      truth.page(standby, "/readyz", led, 200, /^ok, standing by for localhost:/),
      truth.sample(standby, "coordinator_leads", led, 0),
    ]),
  ]);
  for (const each of [leader, ...standbys]) {
    expect(await cluster.health(each)).toBe("serves");
    expect(await cluster.health(each, leading)).toMatch(each === leader ? /^serves$/ : / does not serve /);
  }
  const status = await cluster.run("percolator status LOCATION --json");
  expect(status).toMatchObject({ code: 0 });
  expect(status.documents[0]!.coordinator).toMatchObject({ leader: leader.address, answers: true });
  await cluster.progress();
}

/** Expects that the output of `status` and of `doctor` soon matches `what`. */
async function commandsSay(cluster: OperatedCluster, truth: Truth, what: RegExp): Promise<void> {
  for (const command of ["percolator status LOCATION --json", "percolator doctor LOCATION APP --write"]) {
    const ask = async () => {
      const from = truth.now;
      const { stdout, stderr, code } = await cluster.run(command);
      return { text: stdout + stderr, code, took: truth.now - from };
    };
    const { took, code } = await truth.comes(command, undefined, truth.now, ask, ({ text }) =>
      what.test(text),
    );
    expect(code).toBe(1);
    expect(took).toBeLessThan(truthMs);
  }
}

/** Follows the page's commands in order. Afterwards only the new token is accepted. */
async function changeToken(cluster: OperatedCluster): Promise<void> {
  const old = cluster.command(["status", cluster.location, "--json"], "client-token");
  expect(await old).toMatchObject({ code: 0 });
  cluster.newToken();
  await replacing(cluster, () => cluster.shell("cat new-token"));
  cluster.shell("cp new-token client-token");
  await cluster.progress();
  await pause(2_000);
  await replacing(cluster, () => cluster.shell("cp new-token token"));
  await cluster.progress();
  cluster.newToken();
  const refused = await cluster.command(["status", cluster.location], "new-token");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("same token") });
}

async function changeCertificate(cluster: OperatedCluster, truth: Truth): Promise<void> {
  const expiring = 10;
  cluster.newCertificate(expiring);
  cluster.shell("cat new-ca.pem");
  const { lines } = cluster.leader().process;
  const from = lines.length;
  await replacing(cluster, () => cluster.shell("cp new-key.pem"));
  const since = truth.now;
  for (const coordinator of cluster.coordinators) await coordinator.told("expiring");
  expect(cluster.leader().events("expiring", from)).toMatchObject([{ days: expiring - 1 }]);
  const inDays = (days: number | undefined) => Math.round(((days ?? 0) * 1_000 - Date.now()) / 86_400_000);
  await truth.comes(
    "certificate's end",
    cluster.leader(),
    since,
    () => cluster.leader().sample("coordinator_certificate_expires_timestamp_seconds"),
    (value) => inDays(value) === expiring,
  );
  cluster.shell("cp new-ca.pem");
  // Probes and commands make new connections, which use the new certificate.
  await allIsWell(cluster, truth, truth.now);
  // The coordinator reports an unusable certificate and continues with the previous one.
  const told = cluster.leader().process.lines.length;
  cluster.breakCertificate();
  await cluster.leader().told("failed", told);
  await allIsWell(cluster, truth, truth.now);
  cluster.newCertificate();
  cluster.shell("cat new-ca.pem");
  await replacing(cluster, () => cluster.shell("cp new-key.pem"));
  cluster.shell("cp new-ca.pem");
}

/** Each coordinator reports that it has read the changed file. */
async function replacing(cluster: OperatedCluster, change: () => void): Promise<void> {
  const from = cluster.coordinators.map(({ process }) => process.lines.length);
  change();
  for (const [index, each] of cluster.coordinators.entries()) await each.told("replaced", from[index]);
}

async function pauseStore(cluster: OperatedCluster, truth: Truth, ms: number): Promise<void> {
  const leader = cluster.leader();
  const { worker } = cluster;
  cluster.emulator.signal("SIGSTOP");
  const [since, stopped] = [truth.now, performance.now()];
  await Promise.all([
    truth.sample(worker, "store_answers", since, 0),
    truth.page(worker, "/readyz", since, 503, /^store: /),
    truth.page(worker, "/healthz", since, 200, /^ok/),
  ]);
  await commandsSay(cluster, truth, /store .* did not answer/);
  // Its lease expires, and it no longer reports that it is the leader.
  await truth.sample(leader, "coordinator_leads", since, 0, leaseMs);
  const over = truth.now;
  await Promise.all([
    truth.page(leader, "/readyz", over, 503, /does not lead/),
    truth.page(leader, "/healthz", over, 200, /^ok/),
    truth.sample(worker, "coordinator_answers", over, 0),
    truth.sample(worker, "standing_stale", over, 1),
  ]);
  expect(await cluster.health(leader, leading)).toMatch(/ does not serve /);
  const leftMs = ms - (performance.now() - stopped);
  if (leftMs > 0) await pause(leftMs);
  cluster.emulator.signal("SIGCONT");
  const back = truth.now;
  await truth.sample(worker, "store_answers", back, 1);
  await truth.comes(
    "a leader",
    undefined,
    back,
    () => leaders(cluster),
    (all) => all.length === 1,
    leaseMs,
  );
  await allIsWell(cluster, truth, truth.now);
}

/** Returns those whose metrics say that they are the leader. */
async function leaders(cluster: OperatedCluster): Promise<readonly Served[]> {
  const asked = cluster.coordinators.filter(({ process }) => !process.hasEnded && !process.isStopped);
  const leads = await Promise.all(asked.map((each) => each.sample("coordinator_leads")));
  return asked.filter((_, index) => leads[index] === 1);
}

/** The leader dies, or is paused and continues. */
async function loseLeader(
  cluster: OperatedCluster,
  truth: Truth,
  signal: "SIGKILL" | "SIGSTOP",
): Promise<void> {
  const lost = cluster.leader();
  const { worker } = cluster;
  lost.process.signal(signal);
  const since = truth.now;
  await Promise.all([
    truth.sample(worker, "coordinator_answers", since, 0),
    truth.page(worker, "/readyz", since, 503, /^coordinator: /),
    truth.page(worker, "/healthz", since, 200, /^ok/),
    truth.sample(worker, "store_answers", since, 1),
  ]);
  await commandsSay(cluster, truth, /coordinator .*localhost:\d+/);
  expect(await cluster.health(lost)).toMatch(/DEADLINE_EXCEEDED|UNAVAILABLE/);
  await truth.comes(
    "a leader",
    undefined,
    since,
    () => leaders(cluster),
    (all) => all.length === 1,
    leaseMs + truthMs,
  );
  if (signal === "SIGSTOP") {
    lost.process.signal("SIGCONT");
    await truth.sample(lost, "coordinator_leads", truth.now, 0);
    await lost.told(
      "standby",
      lost.process.lines.findLastIndex((line) => line.includes('"leading"')),
    );
  }
  await allIsWell(cluster, truth, truth.now);
}

async function rollWorker(cluster: OperatedCluster): Promise<void> {
  const old = cluster.worker;
  await cluster.startWorker();
  await old.process.terminate();
  expect(old.events("stopped")).toMatchObject([{ givenUp: 0 }]);
  await cluster.progress();
}

async function end(cluster: OperatedCluster): Promise<void> {
  expect(cluster.failures).toEqual([]);
  await cluster.endLoad();
  expect(cluster.failures).toEqual([]);
  expect(cluster.done).toBeGreaterThan(100);
  for (const each of [
    "percolator wait LOCATION",
    "percolator status LOCATION --json",
    "percolator locks LOCATION --resolve",
    "percolator init LOCATION --app APP --dry-run --json",
    "percolator export LOCATION",
    "percolator check LOCATION",
  ])
    expect(await cluster.run(each), each).toMatchObject({ code: 0 });
  const { location } = cluster;
  for (const args of [
    ["gc", location],
    ["parked", location],
    ["history", location, "documents.contents", "document-1"],
    ["inspect", location, "documents", "document-1"],
  ])
    expect(await cluster.command(args, "client-token"), args[0]).toMatchObject({ code: 0 });
  // The worker still runs it.
  const refused = await cluster.command(["unregister", location, "count"], "client-token");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("(OBSERVER)") });
  // Restores into an empty database, with its own coordinator inside the process, which does not
  // use TLS.
  const restored = `${location}&prefix=restored`;
  const imported = ["import", restored, cluster.file("FILE.jsonl.gz"), "--coordinator", "auto"];
  expect(await cluster.command(imported, undefined)).toMatchObject({ code: 0 });
  expect(cluster.page.unused).toEqual([]);
}
