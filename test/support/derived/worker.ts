/**
 * A process that runs the shop's observers until it is killed. It reads its orders as one line of
 * JSON in its argument, and prints `running`.
 */
import { openShop, type ShopOrders } from "./place.js";

// The process that started this one holds the other end.
process.stdin.on("end", () => process.exit(1)).resume();
const db = await openShop(JSON.parse(process.argv[2]!) as ShopOrders);
db.work();
process.stdout.write("running\n");
