import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GraphNeeds, graphSizes, layOutGraph } from "./graph-layout.ts";
import { groupSteps } from "./step-groups.ts";
import { edgePath, VisibleParts } from "./visible-part.ts";

/** A graph in which each step needs some of the steps before it. */
const graphs: fc.Arbitrary<GraphNeeds> = fc
  .array(fc.array(fc.nat(1000), { maxLength: 3 }), { maxLength: 60 })
  .map((rows) => rows.map((row, at) => (at === 0 ? [] : [...new Set(row.map((each) => each % at))])));

const chain = (length: number): GraphNeeds => Array.from({ length }, (_, at) => (at === 0 ? [] : [at - 1]));
const fan = (length: number): GraphNeeds => Array.from({ length }, (_, at) => (at === 0 ? [] : [0]));
const random = (length: number): GraphNeeds =>
  Array.from({ length }, (_, at) => (at === 0 ? [] : [...new Set([(at * 7919) % at, (at * 104_729) % at])]));

describe("the layout of a graph", () => {
  it("places each step below the steps that it needs, and no two on each other", () => {
    fc.assert(
      fc.property(graphs, (needs) => {
        const { x, y, ranks } = layOutGraph(needs);
        for (const [at, list] of needs.entries())
          for (const needed of list) expect(y[at]).toBeGreaterThan(y[needed] as number);
        for (const rank of ranks)
          for (let place = 1; place < rank.length; place += 1)
            expect(
              (x[rank[place] as number] as number) - (x[rank[place - 1] as number] as number),
            ).toBeGreaterThanOrEqual(graphSizes.nodeWidth + graphSizes.gapX - 1e-6);
      }),
      { numRuns: 100 },
    );
  });

  it("leads an edge that passes ranks beside their steps", () => {
    fc.assert(
      fc.property(graphs, (needs) => {
        const { x, y, edges } = layOutGraph(needs);
        for (const { points } of edges)
          for (let at = 2; at + 2 < points.length; at += 4)
            for (let step = 0; step < needs.length; step += 1)
              if (y[step] === points[at + 1])
                expect(
                  Math.abs((x[step] as number) + graphSizes.nodeWidth / 2 - (points[at] as number)),
                ).toBeGreaterThan(graphSizes.nodeWidth / 2);
      }),
      { numRuns: 60 },
    );
  });

  it("gives the same graph the same places", () => {
    const needs = random(300);
    expect(layOutGraph(needs)).toEqual(layOutGraph(needs));
  });

  it.each([
    ["chain", chain(5000)],
    ["fan", fan(5000)],
    ["random graph", random(5000)],
  ])("places a %s of 5,000 steps inside the drawing", (_, needs) => {
    const { x, y, width, height } = layOutGraph(needs);
    expect(Math.min(...x)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...x) + graphSizes.nodeWidth).toBeLessThanOrEqual(width);
    expect(Math.max(...y) + graphSizes.nodeHeight).toBeLessThanOrEqual(height);
  });
});

describe("the visible part", () => {
  it("has every step and edge that the viewport shows", () => {
    fc.assert(
      fc.property(graphs, fc.nat(800), fc.nat(800), (needs, left, top) => {
        const layout = layOutGraph(needs);
        const port = { x: left, y: top, width: 500, height: 300 };
        const { nodes, edges } = new VisibleParts(layout, graphSizes).within(port);
        for (let step = 0; step < needs.length; step += 1)
          if (isShown(layout, step, port)) expect(nodes).toContain(step);
        for (const [edge, { points }] of layout.edges.entries())
          if (hasCornerIn(points, port)) expect(edges).toContain(edge);
      }),
      { numRuns: 60 },
    );
  });

  it("does not grow with the graph", () => {
    const layout = layOutGraph(chain(5000));
    const { nodes, edges } = new VisibleParts(layout, graphSizes).within({ x: 0, y: 100_000, width: 800, height: 600 });
    expect(nodes.length).toBeLessThan(12);
    expect(edges.length).toBeLessThan(12);
  });
});

interface Port {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function hasCornerIn(points: readonly number[], { x, y, width, height }: Port): boolean {
  return points.some((left, at) => {
    const top = points[at + 1];
    return at % 2 === 0 && top !== undefined && left >= x && left <= x + width && top >= y && top <= y + height;
  });
}

function isShown({ x, y }: ReturnType<typeof layOutGraph>, step: number, port: Port): boolean {
  const left = x[step] as number;
  const top = y[step] as number;
  const { nodeWidth, nodeHeight } = graphSizes;
  return (
    left < port.x + port.width && left + nodeWidth > port.x && top < port.y + port.height && top + nodeHeight > port.y
  );
}

describe("the path of an edge", () => {
  it("is straight through ranks and curved between them", () => {
    expect(edgePath([0, 0, 10, 20])).toBe("M0.0 0.0C0.0 10.0 10.0 10.0 10.0 20.0");
    expect(edgePath([0, 0, 10, 20, 10, 40])).toContain("V40.0");
  });
});

describe("the groups of a large graph", () => {
  const tool = (): string => "mail.send";

  it("are its steps up to the limit", () => {
    expect(groupSteps(fan(1500), tool).groups).toHaveLength(1500);
  });

  it("join the steps of one rank and tool", () => {
    const { groups, needs } = groupSteps(fan(5000), tool);
    expect(groups.map(({ kind, steps }) => [kind, steps.length])).toEqual([
      ["step", 1],
      ["rank", 4999],
    ]);
    expect(needs).toEqual([[], [0]]);
  });

  it("join steps that follow each other", () => {
    expect(groupSteps(chain(5000), tool).groups.map(({ kind, steps }) => [kind, steps.length])).toEqual([
      ["chain", 5000],
    ]);
  });

  it("are drawn step by step once they are open", () => {
    expect(groupSteps(chain(2000), tool, new Set(["chain:0"])).groups).toHaveLength(2000);
  });

  it("contain each step once, and have no cycle", () => {
    fc.assert(
      fc.property(graphs, (needs) => {
        const grouped = groupSteps(needs, (step) => `t${step % 2}`, new Set(), 0);
        expect(grouped.groups.flatMap(({ steps }) => steps).sort((one, two) => one - two)).toEqual(
          needs.map((_, at) => at),
        );
        const { y } = layOutGraph(grouped.needs);
        for (const [at, list] of grouped.needs.entries())
          for (const needed of list) expect(y[at]).toBeGreaterThan(y[needed] as number);
      }),
      { numRuns: 100 },
    );
  });
});
