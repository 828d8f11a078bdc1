import { beforeEach, describe, expect, it } from "vitest";
import {
  type CommandLine,
  eventually,
  type Printed,
  type RunningCommand,
} from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine } from "../../../../test/support/library.js";
import type { About, TransactionShown, Workers } from "../../../dashboard/index.js";
import { observer } from "../../../observer/index.js";

let cli: CommandLine;

const shared = globalThis as { app?: unknown };

beforeEach(async () => {
  cli = await libraryCommandLine();
  shared.app = {
    tables: [documents],
    observers: [
      observer("sizes", documents.title, (tx, { row, value }) =>
        tx.set(documents.size, row, value?.length ?? 0),
      ),
    ],
  };
  await cli.write("app.mjs", "export default globalThis.app;\n");
  await cli.write("token", "\na-token-of-enough-characters\n");
});

const eventsOf = ({ stdout }: RunningCommand) =>
  (stdout as Printed).text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Readonly<Record<string, string>>);

/** Starts a command that serves HTTP, and waits for its address. */
async function start(args: readonly string[], field = "url") {
  const command = cli.start([...args, "--json"]);
  await eventually(() => expect(eventsOf(command)[0]?.[field]).toBeDefined());
  const url = eventsOf(command)[0]![field]!;
  const get = async <T>(path: string, init?: RequestInit) => {
    return (await (await fetch(new URL(path, url), init)).json()) as T;
  };
  return { command, url, get };
}

async function end(command: RunningCommand): Promise<void> {
  command.signal("SIGINT");
  expect(await command.outcome).toMatchObject({ code: 0, stderr: "" });
}

describe("dashboard", () => {
  it("serves the contents of the store until a signal", async () => {
    const { command, url, get } = await start(["dashboard", "data", "--listen", "0"]);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect(await get<About>("api/about")).toMatchObject({
      location: "data",
      reach: "store",
      writable: false,
    });
    await end(command);
    const time = expect.any(String);
    expect(eventsOf(command)).toEqual([
      { event: "listening", time, url },
      { event: "stopping", time, signal: "SIGINT" },
      { event: "stopped", time },
    ]);
  });

  it("prints its address, and a note about its token", async () => {
    const args = ["dashboard", "data", "--listen", "0", "--dashboard-token-file", "token", "--writable"];
    const command = cli.start(args);
    const printed = () => (command.stdout as Printed).text;
    await eventually(() => expect(printed()).toMatch(/Z dashboard at http:\S+\/\n/));
    const url = /http:\S+/.exec(printed())![0];
    expect((await fetch(`${url}api/about`)).status).toBe(401);
    const headers = { authorization: "Bearer a-token-of-enough-characters" };
    const about = (await (await fetch(`${url}api/about`, { headers })).json()) as About;
    expect(about.writable).toBe(true);
    command.signal("SIGTERM");
    const { code, stderr } = await command.outcome;
    expect([code, stderr]).toEqual([0, "note: open it once with ?token=TOKEN, with the token in the file\n"]);
  });

  it("shows the transactions of the named workers", async () => {
    const worker = await start(["worker", "data", "app.mjs", "--dashboard", "0"], "dashboard");
    const { command, get } = await start(["dashboard", "data", "--listen", "0", "--from", worker.url]);
    await cli.run(["set", "data", "documents.title", "new", "12345"]);
    expect(await cli.run(["wait", "data", "--timeout", "1m"])).toMatchObject({ code: 0 });
    await eventually(async () => {
      const told = await get<TransactionShown[]>("api/transactions?observer=sizes&outcome=committed");
      expect(told.map(({ cause }) => cause?.cell.row)).toContain("new");
    });
    const { sessions } = await worker.get<Workers>("api/workers");
    expect(sessions).toMatchObject([{ observers: ["sizes"], isHere: true }]);
    await end(command);
    await end(worker.command);
  });

  it.each([
    [["dashboard", "none"], 1, "STORE"],
    [["dashboard", "data", "--listen", "host"], 2, "INVALID_ARGUMENT"],
    [["dashboard", "data", "--listen", "0.0.0.0:0"], 2, "INVALID_ARGUMENT"],
    [["dashboard", "data", "--dashboard-token-file", "none"], 2, "INVALID_ARGUMENT"],
    [["dashboard", "data", "--listen", "0", "--from", "ftp://x"], 2, "INVALID_ARGUMENT"],
    [["worker", "data", "app.mjs", "--dashboard", "0.0.0.0:0"], 2, "INVALID_ARGUMENT"],
  ] as const)("refuses %j", async (args, code, error) => {
    const outcome = await cli.run([...args, "--json"]);
    expect(outcome.code).toBe(code);
    expect(JSON.parse(outcome.stderr)).toMatchObject({ error: { code: error } });
  });
});
