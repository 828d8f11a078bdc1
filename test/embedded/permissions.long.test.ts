import { closeSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DataFile, metaRecord } from "../../src/store/lmdb/file/pages.js";
import { run } from "../crash/run.js";
import { temporaryFolder } from "../support/databases.js";

const [major] = process.versions.node.split(".").map(Number);
const permission = major! >= 23 ? "--permission" : "--experimental-permission";

/**
 * Runs the child under Node's permission model. Allows a thread and a child process only because
 * the TypeScript loader starts them.
 */
async function add(folder: string, row: string, ...more: string[]) {
  const flags = ["--no-warnings", permission, "--allow-fs-read=*", "--allow-addons"];
  const loader = ["--allow-worker", "--allow-child-process"];
  const child = ["--import", "tsx", "test/embedded/permissions-child.ts", folder, row, ...more];
  return await run("env", [
    "TSX_DISABLE_CACHE=1",
    process.execPath,
    ...flags,
    ...loader,
    `--allow-fs-write=${folder}`,
    ...child,
  ]);
}

function heads(dataFile: string) {
  const file = openSync(dataFile, "r");
  try {
    const data = new DataFile(file, statSync(dataFile).size);
    return { newest: data.newest(), flushed: data.metas().flushed, pageSize: data.pageSize };
  } finally {
    closeSync(file);
  }
}

/** Marks the newest state as not flushed. */
function unflush(dataFile: string): void {
  const { newest, pageSize } = heads(dataFile);
  const bytes = readFileSync(dataFile);
  const { start, end, flagsAt, unflushed } = metaRecord;
  const slot = (newest.transaction % 2) * pageSize;
  const other = ((newest.transaction + 1) % 2) * pageSize;
  bytes.copy(bytes, pageSize / 2 + start, other + start, other + end);
  for (const head of [slot, other]) {
    bytes.writeUInt16LE(bytes.readUInt16LE(head + flagsAt) | unflushed, head + flagsAt);
  }
  writeFileSync(dataFile, bytes);
}

test("a folder can be created, opened and written under Node's permission model, even after a process that did not flush", async () => {
  const folder = await temporaryFolder();
  try {
    const dataFile = join(folder.path, "data.mdb");
    expect(await add(folder.path, "a")).toMatchObject({ status: 0, stdout: "a\n", stderr: "" });
    expect((await add(folder.path, "b", "kill")).stdout).toBe("a b\n");
    unflush(dataFile);
    expect(heads(dataFile).newest.flushed).toBe(false);
    expect(await add(folder.path, "c")).toMatchObject({ status: 0, stdout: "a b c\n", stderr: "" });
    expect(heads(dataFile).flushed?.transaction).toBe(heads(dataFile).newest.transaction);
  } finally {
    await folder.remove();
  }
}, 120_000);
