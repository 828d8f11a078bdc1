#!/usr/bin/env node
import { systemIo } from "./print/io.js";
import { runCli } from "./run.js";

const io = systemIo();
const code = await runCli(process.argv.slice(2), io);
// What is still under way after a second signal must not keep the process.
process.exit(code);
