import { charts } from "./charts.js";
import { draw } from "./draw.js";
import { drawChart } from "./map.js";
import { figures } from "./scenes.js";

/** Every figure that is drawn by code, by its file in `docs/figures`, without `.svg`. */
export const drawings: readonly (readonly [name: string, make: () => Promise<string>])[] = [
  ...Object.entries(figures).map(
    ([name, { title, make }]) => [`protocol/${name}`, async () => draw(await make(), title)] as const,
  ),
  ...Object.entries(charts).map(
    ([name, chart]) => [`concepts/${name}`, async () => drawChart(chart)] as const,
  ),
];
