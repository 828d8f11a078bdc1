import { describe, expect, test } from "vitest";
import type { Pipeline } from "../../src/dashboard/api/index.js";
import { connectedTo, type GraphOptions, graphOf } from "../../web/src/views/pipeline/graph.js";
import { flows, observers, tables } from "../../web/testing/pipeline.js";

const pipeline: Pipeline = { reach: "here", tables, observers, flows };
const collapsed: GraphOptions = { withReads: false, withInternal: false };

describe("the graph of a pipeline", () => {
  test("has one node for all that a recipe keeps for itself", () => {
    const { nodes, edges, apart } = graphOf(pipeline, collapsed);
    const internal = nodes.filter(({ kind }) => kind === "internal");
    expect(internal).toEqual([
      {
        id: "internal:postings",
        kind: "internal",
        owner: "postings",
        columns: [
          { table: "postings_updates", column: "update" },
          { table: "postings_buckets", column: "due" },
          { table: "postings_buckets", column: "resume" },
        ],
      },
    ]);
    expect(nodes.some(({ id }) => id.includes("postings_"))).toBe(false);
    // The writes of both tables are one edge.
    expect(edges.filter(({ to }) => to === "internal:postings")).toMatchObject([
      { from: "observer:merge", kind: "writes", perSecond: 32 },
    ]);
    expect(connectedTo(edges, "internal:postings")).toContain("column:postings.parts");
    expect(apart).toEqual([
      { table: "documents", column: "fetched", isInternal: false },
      { table: "percolator_past", column: "moment", isInternal: true },
    ]);
  });

  test("shows internal columns if asked for", () => {
    const { nodes, edges, apart } = graphOf(pipeline, { withReads: false, withInternal: true });
    expect(nodes.some(({ kind }) => kind === "internal")).toBe(false);
    expect(nodes.map(({ id }) => id)).toContain("column:postings_updates.update");
    expect(edges.filter(({ from }) => from === "observer:merge").map(({ to }) => to)).toEqual([
      "column:postings.merged",
      "column:postings_updates.update",
      "column:postings_buckets.resume",
    ]);
    expect(apart.map(({ column }) => column)).toEqual(["fetched", "moment", "due"]);
  });

  test("keeps an observer that watches and writes internal tables connected, in both directions", () => {
    const [merge] = observers.filter(({ name }) => name === "merge");
    const own = { ...merge!, name: "hits", watches: "postings_buckets.due" };
    const { edges } = graphOf({ ...pipeline, observers: [...observers, own] }, collapsed);
    expect(edges).toContainEqual({
      from: "internal:postings",
      to: "observer:hits",
      kind: "watches",
      observer: "hits",
      perSecond: 0,
    });
  });

  test("has a node for a column that is watched and not recorded yet", () => {
    const [first] = observers;
    const early = { ...first!, name: "early", watches: "unknown.cell" };
    const { nodes } = graphOf({ ...pipeline, observers: [early] }, collapsed);
    expect(nodes).toContainEqual({
      id: "column:unknown.cell",
      kind: "column",
      table: "unknown",
      column: "cell",
      of: "column",
    });
  });
});
