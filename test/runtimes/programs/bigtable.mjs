import { open } from "percolatordb";
import { measure, use } from "./app.mjs";

const db = await open("bigtable://project/instance", { observers: [measure], coordinator: "auto" });
await use(db);
await db.close();
