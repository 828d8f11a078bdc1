/**
 * The application module for `percolator worker LOCATION examples/shop/app.ts`, so that any number of
 * machines share the work. The variable SHOP_LOCATION names the database that gets the alerts.
 */
import { shopApp } from "./observers.js";
import { connect, tellPurchasing } from "./sql.js";

const { SHOP_LOCATION: location } = process.env;
if (location === undefined) throw new Error("Set SHOP_LOCATION to the location of the shop's database.");

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default shopApp(tellPurchasing(connect(location, 1)));
