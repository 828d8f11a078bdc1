import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Coordinators } from "../support/coordinator/coordinators.js";
import { MadeCertificate } from "./certificates.js";
import { commandLines, flagValue } from "./commands.js";
import { deployed, objectOf, type Part, root } from "./files.js";

/**
 * Makes the certificate that `kubernetes/config.yaml` describes, and uses it in a coordinator, in
 * clients, and in the probes.
 */

const run = promisify(execFile);
let all: Coordinators;
let made: MadeCertificate | undefined;

beforeEach(() => {
  all = new Coordinators();
});

afterEach(async () => {
  await all.close();
  made?.remove();
});

const set: Part = objectOf("StatefulSet", "percolator-coordinator");
const pods = Array.from({ length: set.spec.replicas }, (_, index) => `percolator-coordinator-${index}`);

/** The hosts by which clients reach the coordinators: those that they advertise in the lease. */
function hosts(): readonly string[] {
  const line = commandLines().find(({ from }) => from === "kubernetes, StatefulSet percolator-coordinator")!;
  const advertised = flagValue(line, "--advertise").replace(/:\d+$/, "");
  return pods.map((pod) => advertised.replace("percolator-coordinator-0", pod));
}

/** The names that the file requests. */
const asked = () =>
  [...deployed("kubernetes/config.yaml").matchAll(/^# {5}- (\S+)$/gm)].map(([, name]) => name!);

async function serve(names: readonly string[]) {
  made = new MadeCertificate(names);
  const { cert, key } = made;
  const { address } = await all.lead({ tls: { cert, key } });
  const reach = (serverName: string) =>
    all.client({ addresses: [address], tls: { ca: cert, serverName } }).check(new AbortController().signal);
  return { address, reach };
}

/** Runs a probe of the coordinator as the kubelet runs it in this pod. */
async function probe(pod: string, address: string): Promise<string> {
  const [shell, flag, script]: readonly string[] =
    set.spec.template.spec.containers[0].livenessProbe.exec.command;
  const here = script!
    .replace("/app/", `${join(root, "deploy")}/`)
    .replace("127.0.0.1:4100", address)
    .replace("/etc/percolator/tls/ca.crt", made!.certFile);
  const env = { ...process.env, POD_NAME: pod };
  return await run(shell!, [flag!, `${here} --timeout 60000`], { env }).then(
    () => "serves",
    ({ stderr }: { stderr: string }) => stderr,
  );
}

test("clients reach each coordinator by its advertised name, and probes use that name", async () => {
  expect(asked()).toEqual(hosts());
  const { address, reach } = await serve(asked());
  for (const host of hosts()) await reach(host);
  for (const pod of pods) expect(await probe(pod, address)).toBe("serves");
});

test("a certificate that clients refuse makes the probes fail too", async () => {
  const { address, reach } = await serve(["*.percolator-coordinator", "percolator-coordinator"]);
  for (const host of hosts()) {
    await expect(reach(host)).rejects.toMatchObject({ code: "COORDINATOR", reason: "tls" });
  }
  for (const pod of pods) expect(await probe(pod, address)).toMatch(/altnames|UNAVAILABLE/);
});
