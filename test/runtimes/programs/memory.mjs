import { open } from "percolatordb";
import { measure, use } from "./app.mjs";

const db = await open("memory:", { observers: [measure] });
await use(db);
await db.close();
