import { expect, test } from "vitest";
import { Batches, type Loadable } from "./batches.js";

const place = { file: "", offset: 0, position: 0, total: 0 };
const page = (url: string): Loadable => {
  const contents = { contentType: "text/html", body: Buffer.of() };
  return { ...place, ...contents, kind: "page", url, digest: undefined, payloadDigests: undefined, at: 0 };
};
const revisit = (url: string, refersTo: string): Loadable => {
  return { ...place, kind: "unchanged", url, refersTo, refersToAt: undefined, digest: undefined, at: 0 };
};

test.each([
  {
    name: "a page waits for a revisit that refers to it",
    first: revisit("b", "a"),
    later: page("a"),
    waits: true,
  },
  {
    name: "a revisit waits for the page that it refers to",
    first: page("a"),
    later: revisit("b", "a"),
    waits: true,
  },
  { name: "a page waits for itself", first: page("a"), later: page("a"), waits: true },
  {
    name: "revisits that refer to one page are loaded at once",
    first: revisit("b", "a"),
    later: revisit("c", "a"),
    waits: false,
  },
])("$name", async ({ first, later, waits }) => {
  const end: (() => void)[] = [];
  const batches = new Batches(() => new Promise((resolve) => end.push(resolve)));
  await batches.add(first);
  await batches.send();
  const added = batches.add(later).then(() => "at once");
  const waited = new Promise<string>((resolve) => setImmediate(() => resolve("waited")));
  expect(await Promise.race([added, waited])).toBe(waits ? "waited" : "at once");
  end[0]!();
  await added;
  await batches.send();
  end[1]!();
  await batches.settle();
});
