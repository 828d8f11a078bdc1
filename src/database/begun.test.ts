import { expect, test } from "vitest";
import { systemEnvironment } from "../environment/index.js";
import { open } from "./index.js";

test("a transaction that begins while the database closes ends with it, and so does its timer", async () => {
  const timeoutMs = 600_000;
  let timers = 0;
  const environment: typeof systemEnvironment = {
    ...systemEnvironment,
    setTimer: (callback, delayMs, options) => {
      const timer = systemEnvironment.setTimer(callback, delayMs, options);
      if (delayMs !== timeoutMs) return timer;
      timers++;
      const cancel = () => {
        timers--;
        timer.cancel();
      };
      return { cancel };
    },
  };
  const db = await open("memory:", { environment });
  const committing = db.begin({ timeoutMs }).then((tx) => tx.commit());
  const refused = expect(committing).rejects.toMatchObject({ code: "CLOSED" });
  await db.close();
  await refused;
  expect(timers).toBe(0);
});
