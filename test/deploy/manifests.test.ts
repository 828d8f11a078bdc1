import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { commandTree } from "../support/command-tree.js";
import { commandLines, flagValue } from "./commands.js";
import { composeSchema } from "./compose-schema.js";
import {
  compose,
  deployed,
  documentsOf,
  folders,
  manifestsOf,
  objectOf,
  objects,
  type Part,
  root,
  seconds,
} from "./files.js";
import { kubernetesSchemas } from "./kubernetes-schema.js";

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false });

function problems(schema: object, value: unknown): readonly string[] {
  const validate = ajv.compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

describe("schemas", () => {
  test.each(folders.flatMap(manifestsOf))("%s", (name) => {
    for (const object of documentsOf(name)) {
      const schema = kubernetesSchemas[object.kind];
      expect(schema, `a schema of ${object.kind}`).toBeDefined();
      expect(problems(schema!, object)).toEqual([]);
    }
  });

  test("compose.yaml", () => {
    expect(problems(composeSchema, compose())).toEqual([]);
  });

  test("a misspelt word is found", () => {
    const worker = structuredClone(objectOf("Deployment", "percolator-worker"));
    worker.spec.template.spec.terminationGracePeriod = 45;
    expect(problems(kubernetesSchemas.Deployment!, worker)).toHaveLength(1);
    const services = structuredClone(compose());
    services.services.worker.stop_grace_time = "45s";
    services.services.emulator.healthcheck.test = "CMD";
    expect(problems(composeSchema, services)).toHaveLength(2);
  });

  test.each(folders)("kustomize lists every file of %s, and everything that it names exists", (folder) => {
    const [{ resources }] = documentsOf(`${folder}/kustomization.yaml`);
    expect(resources.map((name: string) => `${folder}/${name}`)).toEqual(manifestsOf(folder));
    const ran = spawnSync("kubectl", ["kustomize", join(root, "deploy", folder)], { encoding: "utf8" });
    if (ran.error !== undefined) {
      process.stderr.write(`NOT CHECKED: kubectl is not there, so kustomize was not run over ${folder}.\n`);
      return;
    }
    expect(ran.stderr).toBe("");
    expect(ran.stdout.match(/^kind: /gm)).toHaveLength(objects(folder).length);
  });
});

describe("command lines", () => {
  test.each(commandLines().map((line) => [line.from, line] as const))("%s", async (_, { args }) => {
    const ran: string[] = [];
    const program = commandTree();
    for (const command of program.commands)
      command.action(() => {
        ran.push(command.name());
      });
    await program.parseAsync([...args], { from: "user" });
    expect(ran).toEqual([args[0]]);
  });

  test("all expected command lines are there", () => {
    expect(
      commandLines()
        .map(({ args }) => args[0])
        .sort(),
    ).toEqual(
      [
        "coordinator",
        "coordinator",
        "coordinator",
        "coordinator",
        "init",
        "status",
        "worker",
        "worker",
        "worker",
        "worker",
      ].sort(),
    );
  });

  test("an unknown flag is refused", async () => {
    const program = commandTree();
    for (const command of program.commands) command.action(() => {});
    const parsing = program.parseAsync(["worker", "here", "app.js", "--drain", "30s"], { from: "user" });
    await expect(parsing).rejects.toThrow("--drain");
  });
});

const line = (from: string) => commandLines().find((each) => each.from === from)!;
const portOf = (address: string) => Number(address.slice(address.lastIndexOf(":") + 1));
/** The additional seconds for runs that were aborted at the deadline. */
const afterDrain = 5;

describe("Kubernetes", () => {
  const coordinators: Part = objectOf("StatefulSet", "percolator-coordinator");
  const workers: Part = objectOf("Deployment", "percolator-worker");
  const specs: readonly Part[] = [coordinators.spec.template.spec, workers.spec.template.spec];

  test("the same port is used everywhere", () => {
    const args = line("kubernetes, StatefulSet percolator-coordinator");
    const [container] = coordinators.spec.template.spec.containers;
    const [{ name, containerPort }] = container.ports;
    const service = objectOf("Service", "percolator-coordinator").spec;
    expect(service.ports).toEqual([expect.objectContaining({ port: containerPort, targetPort: name })]);
    expect(portOf(flagValue(args, "--listen"))).toBe(containerPort);
    expect(portOf(flagValue(args, "--advertise"))).toBe(containerPort);
    const [{ ports }] = objectOf("NetworkPolicy", "percolator-coordinator").spec.ingress;
    expect(ports).toEqual([{ protocol: "TCP", port: containerPort }]);
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
      const { command } = container[probe].exec;
      expect(command.slice(0, 2)).toEqual(["sh", "-c"]);
      expect(command[2]).toContain(`exec node /app/health.mjs 127.0.0.1:${containerPort} `);
    }
  });

  test("a worker is probed at the port of its pages, and its metrics have a separate token", () => {
    const args = line("kubernetes, Deployment percolator-worker");
    const [container] = workers.spec.template.spec.containers;
    const [{ name, containerPort }] = container.ports;
    expect(flagValue(args, "--metrics")).toBe(`0.0.0.0:${containerPort}`);
    const paths = ["startupProbe", "readinessProbe", "livenessProbe"].map((probe) => {
      expect(container[probe].httpGet.port).toBe(name);
      return container[probe].httpGet.path;
    });
    expect(paths).toEqual(["/healthz", "/readyz", "/healthz"]);
    const file = flagValue(args, "--metrics-token-file");
    const mount = container.volumeMounts.find(({ mountPath }: Part) => file.startsWith(`${mountPath}/`));
    const { secret } = workers.spec.template.spec.volumes.find((each: Part) => each.name === mount.name);
    expect(secret.secretName).not.toBe("percolator-token");
  });

  test("a coordinator advertises the name that its service gives it, and all names differ", () => {
    const args = line("kubernetes, StatefulSet percolator-coordinator");
    expect(coordinators.spec.serviceName).toBe("percolator-coordinator");
    expect(flagValue(args, "--advertise")).toBe("percolator-coordinator-0.percolator-coordinator:4100");
    expect(coordinators.spec.replicas).toBe(2);
    const [container] = coordinators.spec.template.spec.containers;
    expect(container.args).toContain("$(POD_NAME).percolator-coordinator:4100");
  });

  test("selectors match something, also those of budgets and policies", () => {
    const service = objectOf("Service", "percolator-coordinator");
    for (const [set, budget] of [
      [coordinators, "percolator-coordinator"],
      [workers, "percolator-worker"],
    ]) {
      const { labels } = set.spec.template.metadata;
      expect(labels).toEqual(set.spec.selector.matchLabels);
      expect(objectOf("PodDisruptionBudget", budget).spec.selector.matchLabels).toEqual(labels);
    }
    expect(service.spec.selector).toEqual(coordinators.spec.selector.matchLabels);
    const policy = objectOf("NetworkPolicy", "percolator-coordinator").spec;
    expect(policy.podSelector.matchLabels).toEqual(coordinators.spec.selector.matchLabels);
    expect(workers.spec.template.metadata.labels).toMatchObject(
      policy.ingress[0].from[0].podSelector.matchLabels,
    );
  });

  test("everything that is named exists: mounted files, volumes, accounts and maps", () => {
    for (const spec of specs) {
      const [container] = spec.containers;
      const mounted = container.volumeMounts.map(({ mountPath }: Part) => mountPath);
      const paths = JSON.stringify([container.args, container.env, container.readinessProbe]).match(
        /\/etc\/percolator\/[\w./-]+/g,
      );
      for (const path of paths ?? []) {
        expect(
          mounted.some((mount: string) => path.startsWith(`${mount}/`)),
          path,
        ).toBe(true);
      }
      expect(container.volumeMounts.map(({ name }: Part) => name).sort()).toEqual(
        spec.volumes.map(({ name }: Part) => name).sort(),
      );
      expect(objectOf("ServiceAccount", spec.serviceAccountName)).toBeDefined();
      for (const { valueFrom } of container.env) {
        const key = valueFrom?.configMapKeyRef;
        if (key !== undefined) expect(objectOf("ConfigMap", key.name).data[key.key]).toBeDefined();
      }
    }
  });

  test("config.yaml says how to create each Secret", () => {
    const made = [...deployed("kubernetes/config.yaml").matchAll(/create secret generic (\S+)/g)].map(
      ([, name]) => name,
    );
    const used = specs.flatMap(({ volumes }) =>
      volumes.flatMap(({ secret }: Part) => secret?.secretName ?? []),
    );
    expect([...new Set(used)].sort()).toEqual(made.sort());
  });

  test("a worker has the certificate authority, but not the key", () => {
    const ca = workers.spec.template.spec.volumes.find(({ name }: Part) => name === "ca");
    expect(ca.secret.items).toEqual([{ key: "ca.crt", path: "ca.crt" }]);
  });

  test("there is time to drain, and probes are patient", () => {
    const args = line("kubernetes, Deployment percolator-worker");
    const grace = workers.spec.template.spec.terminationGracePeriodSeconds;
    expect(grace).toBeGreaterThanOrEqual(seconds(flagValue(args, "--drain-deadline")) + afterDrain + 5);
    for (const spec of specs) {
      const { livenessProbe: live, startupProbe: start } = spec.containers[0];
      // A failing container is restarted after 30 s at the earliest, which is longer than a lease
      // and a failover of the oracle. A starting container has at least 60 s, for an outage of a
      // minute.
      expect(live.periodSeconds * live.failureThreshold).toBeGreaterThanOrEqual(30);
      expect(start.periodSeconds * start.failureThreshold).toBeGreaterThanOrEqual(60);
      expect(live.timeoutSeconds).toBeLessThanOrEqual(live.periodSeconds);
    }
    const worker = workers.spec.template.spec.containers[0].livenessProbe;
    expect(worker.periodSeconds * worker.failureThreshold).toBeGreaterThan(120);
  });

  test("no container runs as root, or can write where it need not", () => {
    for (const spec of specs) {
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  });
});

describe("Kubernetes with PostgreSQL", () => {
  const workers: Part = objectOf("Deployment", "percolator-worker", "kubernetes-postgres");
  const [container] = workers.spec.template.spec.containers;

  test("a worker is that of a cluster, but for its credentials", () => {
    const withoutCredentials = (worker: Part) => {
      const copy = structuredClone(worker);
      const { containers, volumes } = copy.spec.template.spec;
      const isOther = ({ name }: Part) => name !== "token" && name !== "ca";
      containers[0].env = containers[0].env.filter(({ name }: Part) => name === "LOCATION");
      containers[0].volumeMounts = containers[0].volumeMounts.filter(isOther);
      copy.spec.template.spec.volumes = volumes.filter(isOther);
      return copy;
    };
    const ofCluster = objectOf("Deployment", "percolator-worker");
    expect(withoutCredentials(workers)).toEqual(withoutCredentials(ofCluster));
  });

  test("the location has no password, and names a file that is mounted", () => {
    const { LOCATION } = objectOf("ConfigMap", "percolator", "kubernetes-postgres").data;
    const location = new URL(LOCATION);
    expect(location.password).toBe("");
    expect(location.searchParams.get("sslmode")).toBe("verify-full");
    const { secret } = workers.spec.template.spec.volumes.find(({ name }: Part) => name === "ca");
    const { mountPath } = container.volumeMounts.find(({ name }: Part) => name === "ca");
    expect(location.searchParams.get("sslrootcert")).toBe(`${mountPath}/${secret.items[0].path}`);
    expect(container.env.find(({ name }: Part) => name === "PGPASSWORD")?.valueFrom.secretKeyRef).toEqual({
      name: secret.secretName,
      key: "password",
    });
    // Four workers: docs/operations-postgres.md has the sum.
    const connections = Number(location.searchParams.get("connections")) + 1;
    const most = workers.spec.replicas * connections;
    const page = readFileSync(join(root, "docs/operations-postgres.md"), "utf8");
    expect(page.replaceAll(/\s+/g, " ")).toContain(`make at most ${most} connections`);
  });

  test("config.yaml says how to create each Secret, and the budget selects the workers", () => {
    const made = [
      ...deployed("kubernetes-postgres/config.yaml").matchAll(/create secret generic (\S+)/g),
    ].map(([, name]) => name);
    const used = workers.spec.template.spec.volumes.flatMap(({ secret }: Part) => secret?.secretName ?? []);
    expect([...new Set(used)].sort()).toEqual(made.sort());
    const { labels } = workers.spec.template.metadata;
    const budget = objectOf("PodDisruptionBudget", "percolator-worker", "kubernetes-postgres");
    expect(budget.spec.selector.matchLabels).toEqual(labels);
    const { serviceAccountName } = workers.spec.template.spec;
    expect(objectOf("ServiceAccount", serviceAccountName, "kubernetes-postgres")).toBeDefined();
  });
});

describe("compose.yaml", () => {
  const { services }: Part = compose();

  test("depends only on existing services, and waits for health only if they have a health check", () => {
    for (const [name, service] of Object.entries<Part>(services)) {
      for (const [on, { condition }] of Object.entries<Part>(service.depends_on ?? {})) {
        expect(services[on], `${name} needs ${on}`).toBeDefined();
        if (condition === "service_healthy") expect(services[on].healthcheck, on).toBeDefined();
      }
    }
  });

  test.each(["coordinator-1", "coordinator-2"])(
    "%s advertises its own name, with the port at which it listens",
    (name) => {
      const args = line(`compose.yaml, ${name}`);
      expect(flagValue(args, "--advertise")).toBe(`${name}:4100`);
      expect(portOf(flagValue(args, "--listen"))).toBe(4100);
      expect(services[name].healthcheck.test).toEqual(["CMD", "node", "/app/health.mjs", "127.0.0.1:4100"]);
    },
  );

  test("the emulator is reached at the port where it listens, with one thread of Go", () => {
    const { command, environment } = services.emulator;
    const [, port] = /--host-port=0\.0\.0\.0:(\d+)/.exec(command.join(" "))!;
    expect(environment.GOMAXPROCS).toBe("1");
    for (const [name, service] of Object.entries<Part>(services)) {
      if (name !== "emulator") expect(service.environment.BIGTABLE_EMULATOR_HOST).toBe(`emulator:${port}`);
    }
    expect(services.emulator.healthcheck.test.at(-1)).toContain(`/127.0.0.1/${port}`);
  });

  test("there is time to drain; everything mounted and built exists", () => {
    const args = line("compose.yaml, worker");
    const grace = seconds(services.worker.stop_grace_period);
    expect(grace).toBeGreaterThanOrEqual(seconds(flagValue(args, "--drain-deadline")) + afterDrain + 5);
    for (const { volumes = [], build } of Object.values<Part>(services)) {
      for (const volume of volumes) expect(existsSync(join(root, "deploy", volume.split(":")[0]))).toBe(true);
      if (build !== undefined)
        expect(existsSync(join(root, "deploy", build.context, build.dockerfile))).toBe(true);
    }
    expect(args.args[2]).toBe("/app/app.js");
    expect(services.worker.volumes).toContain("./app.js:/app/app.js:ro");
  });
});
