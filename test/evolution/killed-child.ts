/**
 * One long pass through a table, which the test kills: `migrate FOLDER`, or `rebuild FOLDER`. Prints a
 * line after each page, and the report at its end.
 */
import { open } from "percolatordb";
import { emails } from "./killed.js";
import { people2 } from "./people.js";

const [role, folder] = process.argv.slice(2) as [string, string];
const db = await open(folder);
const onProgress = (progress: object) => void process.stdout.write(`${JSON.stringify(progress)}\n`);
const report =
  role === "migrate"
    ? (await db.migrate([people2], { onProgress }))[0]
    : await emails((email) => email.toLowerCase()).rebuild(db, { resume: "any case", onProgress });
process.stdout.write(`done ${JSON.stringify(report)}\n`);
await db.close();
