import { expect, test } from "vitest";
import { parseCommand, UsageError } from "./options.js";

test("options that are not given have values that fit the store", () => {
  expect(parseCommand([])).toMatchObject({
    store: "lmdb",
    processes: 3,
    kills: 6,
    cuts: 0,
    isolation: "snapshot",
  });
  expect(parseCommand(["--store", "bigtable"])).toMatchObject({ processes: 3, kills: 6, cuts: 6 });
  expect(parseCommand(["--store", "postgres"])).toMatchObject({ kills: 6, cuts: 6, crashes: 3 });
  expect(parseCommand(["--store", "memory"])).toMatchObject({ processes: 1, kills: 0, cuts: 0 });
  expect(parseCommand(["--workload", "rw-register"]).workloads).toEqual(["rw-register"]);
  expect(parseCommand(["a.edn", "b.edn.gz"]).files).toEqual(["a.edn", "b.edn.gz"]);
});

test.each([
  [["--store", "files"], "There is no --store files here; there are: lmdb, postgres, bigtable, memory."],
  [["--isolation", "none"], "There is no --isolation none here; there are: snapshot, serializable."],
  [["--store", "memory", "--processes", "2"], /A store in memory ends with its process: give --processes 1/],
  [["--store", "memory", "--stops", "1"], /A store in memory ends with its process: .*--stops 0/],
  [["--cuts", "2"], /There is no network before lmdb/],
  [["--crashes", "2"], /lmdb has no server that could crash: --crashes goes with postgres/],
  [["--store", "bigtable", "--commit", "mixed"], /Bigtable always commits in two phases/],
  [["--seconds", "0"], '--seconds must be a whole number of 1 or more, not "0".'],
  [["--kills", "many"], '--kills must be a whole number of 0 or more, not "many".'],
  [["--clients", "1"], /Each workload needs a client/],
  [["--unknown"], /Unknown option '--unknown'/],
])("%j is refused", (args, message) => {
  expect(() => parseCommand(args)).toThrow(message);
  expect(() => parseCommand(args)).toThrow(UsageError);
});
