/**
 * The part of the Compose specification that the file uses. Unknown keys are refused, except
 * extensions.
 */

const text = { type: "string", minLength: 1 } as const;
const duration = { type: "string", pattern: "^[0-9]+(ms|s|m|h)$" } as const;
const list = (items: object) => ({ type: "array", items, minItems: 1 }) as const;
const object = (properties: object, required: readonly string[] = []) =>
  ({ type: "object", properties, required, additionalProperties: false }) as const;
const map = (values: object) => ({ type: "object", additionalProperties: values }) as const;

const healthcheck = object(
  {
    test: { type: "array", minItems: 2, items: text, contains: { enum: ["CMD", "CMD-SHELL"] } },
    interval: duration,
    timeout: duration,
    retries: { type: "integer", minimum: 1 },
    start_period: duration,
  },
  ["test"],
);

const service = object({
  image: text,
  build: object({ context: text, dockerfile: text, target: text }, ["context"]),
  command: list(text),
  init: { type: "boolean" },
  restart: { enum: ["no", "always", "on-failure", "unless-stopped"] },
  environment: map({ type: "string" }),
  read_only: { type: "boolean" },
  tmpfs: list(text),
  cap_drop: list(text),
  security_opt: list(text),
  depends_on: map(
    object(
      {
        condition: {
          enum: ["service_started", "service_healthy", "service_completed_successfully"],
        },
      },
      ["condition"],
    ),
  ),
  stop_grace_period: duration,
  healthcheck,
  volumes: list({ type: "string", pattern: "^\\./[^:]+:/[^:]+(:ro)?$" }),
  deploy: object({ replicas: { type: "integer", minimum: 0 } }),
  profiles: list(text),
});

export const composeSchema = {
  type: "object",
  properties: { name: { type: "string", pattern: "^[a-z0-9][a-z0-9_-]*$" }, services: map(service) },
  patternProperties: { "^x-": {} },
  required: ["services"],
  additionalProperties: false,
} as const;
