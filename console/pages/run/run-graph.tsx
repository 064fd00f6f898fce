import type { RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { GraphEdges, GraphOverview } from "./graph-edges.tsx";
import { graphSizes } from "./graph-layout.ts";
import { GraphNode } from "./graph-node.tsx";
import { type PlacedGraph, useGraph } from "./use-graph.ts";
import type { LoadedRun } from "./use-run.ts";
import type { Viewport } from "./visible-part.ts";

interface RunGraphProps {
  readonly loaded: LoadedRun;
  readonly selected: string | null;
  readonly onStep: (step_id: string) => void;
}

const zoomSteps = [0.08, 0.12, 0.18, 0.26, 0.38, 0.55, 0.75, 1, 1.3] as const;
/** Below this zoom, names cannot be read: nodes are drawn as plain shapes. */
const readableZoom = 0.38;
/** The drawing moves in steps of this size, so that small scrolls draw nothing again. */
const cell = 256;

/** The graph of the steps. Its box scrolls; only the visible part is in the page. */
export function RunGraph({ loaded, selected, onStep }: RunGraphProps): VNode {
  const [open, setOpen] = useState<ReadonlyMap<string, number>>(new Map());
  const graph = useGraph(loaded.view, open);
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const size = useFrameSize(frame);
  const port = useViewport(frame, size, zoom);
  useFirstPlace(frame, graph, size, setZoom);
  const { layout, grouped } = graph;
  const part = graph.parts.within(port);
  const isReadable = zoom >= readableZoom;
  useOpenedGroup(frame, graph, open, zoom);
  const group = selected === null ? null : loaded.view.find(selected);
  return (
    <div class="graph-frame">
      <div
        class="graph"
        ref={frame}
        // A small graph needs no tall box.
        style={{ height: `clamp(200px, ${Math.ceil(layout.height * zoom) + 18}px, max(360px, 100vh - 290px))` }}
      >
        <div class="graph-space" style={{ width: `${layout.width * zoom}px`, height: `${layout.height * zoom}px` }}>
          <GraphEdges layout={layout} edges={part.edges} port={port} zoom={zoom} />
          {isReadable ? (
            <ul class="graph-nodes" aria-label="Steps of the run">
              {part.nodes.map((node) => (
                <GraphNode
                  key={grouped.groups[node]?.id}
                  loaded={loaded}
                  group={grouped.groups[node] as (typeof grouped.groups)[number]}
                  x={(layout.x[node] as number) * zoom}
                  y={(layout.y[node] as number) * zoom}
                  zoom={zoom}
                  selected={group}
                  onStep={onStep}
                  onOpen={({ id, steps }) => setOpen(new Map([...open, [id, steps[0] as number]]))}
                />
              ))}
            </ul>
          ) : (
            <GraphOverview loaded={loaded} graph={graph} nodes={part.nodes} port={port} zoom={zoom} />
          )}
        </div>
      </div>
      <ZoomButtons
        zoom={zoom}
        onZoom={(next) => zoomAround(frame.current, zoom, next, setZoom)}
        onFit={() => setZoom(fitZoom(graph, size))}
      />
    </div>
  );
}

interface ZoomButtonsProps {
  readonly zoom: number;
  readonly onZoom: (zoom: number) => void;
  readonly onFit: () => void;
}

function ZoomButtons({ zoom, onZoom, onFit }: ZoomButtonsProps): VNode {
  const larger = zoomSteps.find((step) => step > zoom + 0.001);
  const smaller = zoomSteps.findLast((step) => step < zoom - 0.001);
  return (
    <fieldset class="graph-zoom" aria-label="Size of the graph">
      <button
        type="button"
        aria-label="Smaller"
        disabled={smaller === undefined}
        onClick={() => onZoom(smaller ?? zoom)}
      >
        −
      </button>
      <button type="button" aria-label="Larger" disabled={larger === undefined} onClick={() => onZoom(larger ?? zoom)}>
        +
      </button>
      <button type="button" onClick={onFit}>
        Fit
      </button>
    </fieldset>
  );
}

interface FrameSize {
  readonly width: number;
  readonly height: number;
}

function useFrameSize(frame: RefObject<HTMLDivElement | null>): FrameSize {
  const [size, setSize] = useState<FrameSize>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null) return;
    const measure = () => setSize({ width: current.clientWidth, height: current.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [frame]);
  return size;
}

/** Returns the visible part of the drawing with a margin, in the pixels of the layout. */
function useViewport(frame: RefObject<HTMLDivElement | null>, { width, height }: FrameSize, zoom: number): Viewport {
  const [corner, setCorner] = useState({ left: 0, top: 0 });
  useEffect(() => {
    const { current } = frame;
    if (current === null) return;
    const follow = () => {
      const left = Math.floor(current.scrollLeft / cell) * cell;
      const top = Math.floor(current.scrollTop / cell) * cell;
      setCorner((before) => (before.left === left && before.top === top ? before : { left, top }));
    };
    current.addEventListener("scroll", follow, { passive: true });
    return () => current.removeEventListener("scroll", follow);
  }, [frame]);
  return {
    x: (corner.left - cell) / zoom,
    y: (corner.top - cell) / zoom,
    width: (width + 3 * cell) / zoom,
    height: (height + 3 * cell) / zoom,
  };
}

/** Shows a small graph whole, and the beginning of a large one. */
function useFirstPlace(
  frame: RefObject<HTMLDivElement | null>,
  graph: PlacedGraph,
  size: FrameSize,
  setZoom: (zoom: number) => void,
): void {
  const isPlaced = useRef(false);
  useLayoutEffect(() => {
    const { current } = frame;
    if (isPlaced.current || current === null || size.width === 0) return;
    isPlaced.current = true;
    const zoom = Math.max(0.55, fitZoom(graph, size));
    setZoom(zoom);
    // The first steps are in the middle of the drawing.
    const [first] = graph.layout.ranks[0] ?? [];
    const middle = first === undefined ? 0 : ((graph.layout.x[first] as number) + graphSizes.nodeWidth / 2) * zoom;
    requestAnimationFrame(() => {
      current.scrollLeft = middle - size.width / 2;
    });
  });
}

/** Moves to the first step of the group that was opened last: the drawing around it is new. */
function useOpenedGroup(
  frame: RefObject<HTMLDivElement | null>,
  { layout, grouped }: PlacedGraph,
  open: ReadonlyMap<string, number>,
  zoom: number,
): void {
  useLayoutEffect(() => {
    const { current } = frame;
    const first = [...open.values()].at(-1);
    if (current === null || first === undefined) return;
    const node = grouped.groupOf[first] as number;
    current.scrollLeft = (layout.x[node] as number) * zoom - current.clientWidth / 3;
    current.scrollTop = (layout.y[node] as number) * zoom - current.clientHeight / 3;
  }, [open]);
}

function fitZoom({ layout }: PlacedGraph, { width, height }: FrameSize): number {
  return Math.max(zoomSteps[0], Math.min(1, width / layout.width, height / layout.height));
}

/** Changes the size, and keeps the middle of the window where it is. */
function zoomAround(frame: HTMLDivElement | null, from: number, to: number, setZoom: (zoom: number) => void): void {
  setZoom(to);
  if (frame === null) return;
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = frame;
  requestAnimationFrame(() => {
    frame.scrollLeft = ((scrollLeft + clientWidth / 2) * to) / from - clientWidth / 2;
    frame.scrollTop = ((scrollTop + clientHeight / 2) * to) / from - clientHeight / 2;
  });
}
