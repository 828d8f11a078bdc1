import { beforeEach, describe, expect, it } from "vitest";
import { faultHooks } from "../../../test/support/fault-hooks.js";
import type { CommandLine } from "../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});
