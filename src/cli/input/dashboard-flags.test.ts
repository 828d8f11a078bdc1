import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Printed } from "../../../test/support/command-line.js";
import { systemEnvironment } from "../../environment/index.js";
import { Cli } from "../cli.js";
import { dashboardOptions } from "./dashboard-flags.js";

test("the dashboard shows the location, but not a password in it", async () => {
  const cli = new Cli({
    stdin: new PassThrough(),
    stdout: new Printed(),
    stderr: new Printed(),
    cwd: "/",
    environment: systemEnvironment,
    env: {},
    onSignal: () => () => undefined,
  });
  const shown = async (location: string) => (await dashboardOptions(cli, location, undefined, {})).location;
  expect(await shown("./data")).toBe("./data");
  // The dashboard then shows the store's description.
  expect(await shown("postgres://app:secret@localhost/shop?schema=search")).toBeUndefined();
});
