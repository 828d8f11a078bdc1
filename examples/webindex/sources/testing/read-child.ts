/** Reads an archive in a process of its own, whose heap a test limits. Prints its items as JSON. */
import { readArchive } from "../warc/index.js";
import { all, line } from "./files.js";

console.log(JSON.stringify((await all(readArchive(process.argv[2]!))).map(line)));
