/**
 * The parts of Kubernetes' own schemas (apps/v1, v1, policy/v1, networking.k8s.io/v1) that the
 * manifests use. As strict as the server with `--validate=strict`: unknown fields are refused.
 */

const string = { type: "string" } as const;
const text = { type: "string", minLength: 1 } as const;
const boolean = { type: "boolean" } as const;
const whole = { type: "integer", minimum: 0 } as const;
const count = { type: "integer", minimum: 1 } as const;
const strings = { type: "object", additionalProperties: string } as const;
const dnsName = { type: "string", pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63 } as const;
const port = { type: "integer", minimum: 1, maximum: 65_535 } as const;
const quantity = {
  type: "string",
  pattern: "^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$",
} as const;
const percentOrCount = { anyOf: [whole, { type: "string", pattern: "^[0-9]+%$" }] } as const;

function object(properties: object, required: readonly string[] = []) {
  return { type: "object", properties, required, additionalProperties: false } as const;
}

function list(items: object, minItems = 1) {
  return { type: "array", items, minItems } as const;
}

const metadata = object({ name: dnsName, labels: strings, annotations: strings }, ["name", "labels"]);
const selector = object({ matchLabels: strings }, ["matchLabels"]);

const probe = {
  ...object({
    exec: object({ command: list(text) }, ["command"]),
    httpGet: object({ path: { type: "string", pattern: "^/" }, port: { anyOf: [port, dnsName] } }, [
      "path",
      "port",
    ]),
    initialDelaySeconds: whole,
    periodSeconds: count,
    timeoutSeconds: count,
    failureThreshold: count,
    successThreshold: count,
  }),
  oneOf: [{ required: ["exec"] }, { required: ["httpGet"] }],
} as const;

const env = {
  ...object(
    {
      name: { type: "string", pattern: "^[A-Z_][A-Z0-9_]*$" },
      value: string,
      valueFrom: object({
        fieldRef: object({ fieldPath: text }, ["fieldPath"]),
        configMapKeyRef: object({ name: dnsName, key: text }, ["name", "key"]),
        secretKeyRef: object({ name: dnsName, key: text }, ["name", "key"]),
      }),
    },
    ["name"],
  ),
  oneOf: [{ required: ["value"] }, { required: ["valueFrom"] }],
} as const;

const container = object(
  {
    name: dnsName,
    image: text,
    args: list(text),
    env: list(env),
    ports: list(
      object({ name: dnsName, containerPort: port, protocol: { enum: ["TCP", "UDP"] } }, ["containerPort"]),
    ),
    startupProbe: probe,
    readinessProbe: probe,
    livenessProbe: probe,
    resources: object({
      requests: object({ cpu: quantity, memory: quantity }),
      limits: object({ cpu: quantity, memory: quantity }),
    }),
    securityContext: object({
      allowPrivilegeEscalation: boolean,
      readOnlyRootFilesystem: boolean,
      capabilities: object({ drop: list(text), add: list(text) }),
    }),
    volumeMounts: list(object({ name: dnsName, mountPath: text, readOnly: boolean }, ["name", "mountPath"])),
  },
  ["name", "image"],
);

const items = list(object({ key: text, path: text }, ["key", "path"]));
const volume = {
  ...object(
    {
      name: dnsName,
      secret: object({ secretName: dnsName, items }, ["secretName"]),
      configMap: object({ name: dnsName, items }, ["name"]),
      emptyDir: object({ sizeLimit: quantity, medium: { const: "Memory" } }),
    },
    ["name"],
  ),
  minProperties: 2,
  maxProperties: 2,
} as const;

const podSpec = object(
  {
    serviceAccountName: dnsName,
    automountServiceAccountToken: boolean,
    terminationGracePeriodSeconds: whole,
    securityContext: object({
      runAsNonRoot: boolean,
      runAsUser: count,
      runAsGroup: count,
      fsGroup: count,
      seccompProfile: object({ type: { enum: ["RuntimeDefault", "Localhost", "Unconfined"] } }, ["type"]),
    }),
    affinity: object({
      podAntiAffinity: object({
        requiredDuringSchedulingIgnoredDuringExecution: list(
          object({ topologyKey: text, labelSelector: selector }, ["topologyKey"]),
        ),
      }),
    }),
    topologySpreadConstraints: list(
      object(
        {
          maxSkew: count,
          topologyKey: text,
          whenUnsatisfiable: { enum: ["DoNotSchedule", "ScheduleAnyway"] },
          labelSelector: selector,
        },
        ["maxSkew", "topologyKey", "whenUnsatisfiable"],
      ),
    ),
    containers: list(container),
    volumes: list(volume),
  },
  ["containers"],
);

const template = object({ metadata: object({ labels: strings }, ["labels"]), spec: podSpec }, [
  "metadata",
  "spec",
]);

function kind(apiVersion: string, name: string, rest: object, required: readonly string[]) {
  return object({ apiVersion: { const: apiVersion }, kind: { const: name }, metadata, ...rest }, [
    "apiVersion",
    "kind",
    "metadata",
    ...required,
  ]);
}

/** The schema of each kind. */
export const kubernetesSchemas: Readonly<Record<string, object>> = {
  ServiceAccount: kind("v1", "ServiceAccount", { automountServiceAccountToken: boolean }, []),
  ConfigMap: kind("v1", "ConfigMap", { data: strings }, ["data"]),
  Service: kind(
    "v1",
    "Service",
    {
      spec: object(
        {
          clusterIP: { const: "None" },
          publishNotReadyAddresses: boolean,
          selector: strings,
          ports: list(object({ name: dnsName, port, targetPort: { anyOf: [port, dnsName] } }, ["port"])),
        },
        ["selector", "ports"],
      ),
    },
    ["spec"],
  ),
  PodDisruptionBudget: kind(
    "policy/v1",
    "PodDisruptionBudget",
    {
      spec: {
        ...object({ maxUnavailable: percentOrCount, minAvailable: percentOrCount, selector }, ["selector"]),
        oneOf: [{ required: ["maxUnavailable"] }, { required: ["minAvailable"] }],
      },
    },
    ["spec"],
  ),
  NetworkPolicy: kind(
    "networking.k8s.io/v1",
    "NetworkPolicy",
    {
      spec: object(
        {
          podSelector: selector,
          policyTypes: list({ enum: ["Ingress", "Egress"] }),
          ingress: list(
            object({
              from: list(object({ podSelector: selector })),
              ports: list(object({ protocol: { enum: ["TCP", "UDP"] }, port }, ["port"])),
            }),
          ),
        },
        ["podSelector", "policyTypes"],
      ),
    },
    ["spec"],
  ),
  Deployment: kind(
    "apps/v1",
    "Deployment",
    {
      spec: object(
        {
          replicas: whole,
          selector,
          strategy: object({
            type: { enum: ["RollingUpdate", "Recreate"] },
            rollingUpdate: object({ maxSurge: percentOrCount, maxUnavailable: percentOrCount }),
          }),
          template,
        },
        ["selector", "template"],
      ),
    },
    ["spec"],
  ),
  StatefulSet: kind(
    "apps/v1",
    "StatefulSet",
    {
      spec: object(
        {
          replicas: whole,
          serviceName: dnsName,
          podManagementPolicy: { enum: ["OrderedReady", "Parallel"] },
          selector,
          template,
        },
        ["selector", "template", "serviceName"],
      ),
    },
    ["spec"],
  ),
};
