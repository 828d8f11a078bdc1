#!/usr/bin/env node
import { systemIo } from "./print/io.js";
import { runCli } from "./run.js";

const io = systemIo();
const code = await runCli(process.argv.slice(2), io);
// After a second signal, work in progress must not keep the process alive.
process.exit(code);
