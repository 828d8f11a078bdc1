import { open } from "percolatordb";
import { measure, use } from "./app.mjs";

const db = await open(process.env.POSTGRES, { observers: [measure] });
await use(db);
await db.close();
