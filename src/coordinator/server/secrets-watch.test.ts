import { expect, test } from "vitest";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import type { Coordinator } from "./coordinator.js";
import { type Secrets, SecretsWatch } from "./secrets-watch.js";

function watching(first: Secrets) {
  const environment = new TestEnvironment();
  const replaced: Secrets[] = [];
  const failures: string[] = [];
  let told = 0;
  let read = (): Secrets => first;
  const coordinator = {
    certificateExpires: undefined,
    replace: (secrets: Secrets) => {
      if (secrets.token === "refused") throw new Error("it is none");
      replaced.push(secrets);
    },
  } as unknown as Coordinator;
  const watch = new SecretsWatch({
    environment,
    coordinator,
    first,
    read: () => read(),
    onFailure: (_doing, error) => failures.push((error as Error).message),
    onReplaced: () => told++,
  });
  const look = async (next: () => Secrets) => {
    read = next;
    await environment.advance(1_000);
  };
  return { watch, look, replaced, failures, told: () => told };
}

test("changed secrets are given to the coordinator once, and reported once", async () => {
  const { watch, look, replaced, failures, told } = watching({ token: "one" });
  watch.start();
  for (let n = 0; n < 3; n++) await look(() => ({ token: "one" }));
  expect([replaced, told()]).toEqual([[], 0]);
  for (let n = 0; n < 3; n++) await look(() => ({ token: "two" }));
  expect([replaced, told()]).toEqual([[{ token: "two" }], 1]);
  await look(() => ({ token: "one" }));
  expect([replaced, told()]).toEqual([[{ token: "two" }, { token: "one" }], 2]);
  expect(failures).toEqual([]);
  watch.stop();
  await look(() => ({ token: "three" }));
  expect(told()).toBe(2);
});

test("secrets that cannot be read or used leave the earlier ones in place, and are tried again", async () => {
  const { watch, look, replaced, failures } = watching({ token: "one" });
  watch.start();
  await look(() => {
    throw new Error("no such file");
  });
  await look(() => ({ token: "refused" }));
  await look(() => ({ token: "refused" }));
  expect([replaced, failures]).toEqual([[], ["no such file", "it is none", "it is none"]]);
  await look(() => ({ token: "two" }));
  expect(replaced).toEqual([{ token: "two" }]);
  watch.stop();
});
