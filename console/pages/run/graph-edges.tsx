import type { VNode } from "preact";
import { type GraphLayout, graphSizes } from "./graph-layout.ts";
import { shownStepState } from "./shown-step-state.ts";
import { stepLooks } from "./step-look.ts";
import type { PlacedGraph } from "./use-graph.ts";
import type { LoadedRun } from "./use-run.ts";
import { edgePath, type Viewport } from "./visible-part.ts";

interface DrawingProps {
  readonly port: Viewport;
  readonly zoom: number;
}

/** The visible edges. The drawing covers only the viewport, because a browser cannot keep one of any size. */
export function GraphEdges({
  layout,
  edges,
  port,
  zoom,
}: DrawingProps & { readonly layout: GraphLayout; readonly edges: readonly number[] }): VNode {
  const path = edges.map((edge) => edgePath((layout.edges[edge] as GraphLayout["edges"][number]).points)).join("");
  return (
    <Drawing port={port} zoom={zoom}>
      <path class="graph-edge" d={path} vector-effect="non-scaling-stroke" />
    </Drawing>
  );
}

/** All visible nodes as plain shapes: one element for each colour, however many nodes there are. */
export function GraphOverview({
  loaded,
  graph,
  nodes,
  port,
  zoom,
}: DrawingProps & {
  readonly loaded: LoadedRun;
  readonly graph: PlacedGraph;
  readonly nodes: readonly number[];
}): VNode {
  const { nodeWidth, nodeHeight } = graphSizes;
  const paths = new Map<string, string>();
  for (const node of nodes) {
    const [step = 0] = graph.grouped.groups[node]?.steps ?? [];
    const { tone } = stepLooks[shownStepState(loaded, step)];
    const shape = `M${graph.layout.x[node]} ${graph.layout.y[node]}h${nodeWidth}v${nodeHeight}h-${nodeWidth}z`;
    paths.set(tone, (paths.get(tone) ?? "") + shape);
  }
  return (
    <Drawing port={port} zoom={zoom}>
      {[...paths].map(([tone, d]) => (
        <path key={tone} class={`graph-shape tone-${tone}`} d={d} />
      ))}
    </Drawing>
  );
}

function Drawing({ port, zoom, children }: DrawingProps & { readonly children: VNode | readonly VNode[] }): VNode {
  const { x, y, width, height } = port;
  return (
    <svg
      class="graph-drawing"
      aria-hidden="true"
      width={width * zoom}
      height={height * zoom}
      viewBox={`${x} ${y} ${width} ${height}`}
      style={{ transform: `translate(${x * zoom}px, ${y * zoom}px)` }}
    >
      {children}
    </svg>
  );
}
