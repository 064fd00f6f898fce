import { isotonicPlaces } from "./isotonic-places.ts";

/** The steps that each step of a graph needs, by index. */
export type GraphNeeds = readonly (readonly number[])[];

/** The sizes of a drawing, in pixels. */
export interface GraphSizes {
  readonly nodeWidth: number;
  readonly nodeHeight: number;
  readonly gapX: number;
  readonly gapY: number;
  /** The room of an edge that passes a rank. */
  readonly laneWidth: number;
}

export const graphSizes: GraphSizes = { nodeWidth: 208, nodeHeight: 56, gapX: 24, gapY: 44, laneWidth: 18 };

export interface GraphEdge {
  readonly from: number;
  readonly to: number;
  /** x and y of each corner, from the end of the needed step to the start of the other. */
  readonly points: readonly number[];
}

export interface GraphLayout {
  readonly width: number;
  readonly height: number;
  /** The left upper corner of each node. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly ranks: readonly (readonly number[])[];
  readonly edges: readonly GraphEdge[];
}

/** Edges that pass ranks have a place in each of them, up to this number of places. The longest edges are straight. */
const LANES_MAX = 12_000;
const ORDER_SWEEPS = 3;
const PLACE_SWEEPS = 3;

/** Places the steps in ranks below the steps that they need, with few crossings. The same graph gives the same places. */
export function layOutGraph(needs: GraphNeeds, sizes: GraphSizes = graphSizes): GraphLayout {
  const rank = longestPathRanks(needs);
  const lanes = addLanes(needs, rank);
  const graph = linkVertices(lanes);
  const order = rankLists(graph.rank);
  for (let sweep = 0; sweep < ORDER_SWEEPS; sweep += 1) {
    for (let at = 1; at < order.length; at += 1) sortRank(order[at] as Int32Array, graph.place, graph.above);
    for (let at = order.length - 2; at >= 0; at -= 1) sortRank(order[at] as Int32Array, graph.place, graph.below);
  }
  for (let at = 1; at < order.length; at += 1) sortRank(order[at] as Int32Array, graph.place, graph.above);
  const center = placeRanks(order, graph, needs.length, sizes);
  return toLayout(needs.length, lanes, { order, center }, sizes);
}

/** Returns for each step the length of the longest path to it. Steps in a cycle, which no plan has, stay at the top. */
export function longestPathRanks(needs: GraphNeeds): Int32Array {
  const rank = new Int32Array(needs.length);
  const missing = Int32Array.from(needs, (list) => list.length);
  const dependents: number[][] = needs.map(() => []);
  for (const [index, list] of needs.entries()) for (const needed of list) dependents[needed]?.push(index);
  const queue: number[] = [];
  for (let index = 0; index < needs.length; index += 1) if (missing[index] === 0) queue.push(index);
  for (let at = 0; at < queue.length; at += 1) {
    const index = queue[at] as number;
    for (const next of dependents[index] as number[]) {
      rank[next] = Math.max(rank[next] as number, (rank[index] as number) + 1);
      missing[next] = (missing[next] as number) - 1;
      if (missing[next] === 0) queue.push(next);
    }
  }
  return rank;
}

/** An edge with its places in the ranks that it passes. */
interface Lane {
  readonly from: number;
  readonly to: number;
  readonly via: readonly number[];
}

interface LaneGraph {
  readonly rank: number[];
  readonly lanes: readonly Lane[];
}

function addLanes(needs: GraphNeeds, ranks: Int32Array): LaneGraph {
  const rank = Array.from(ranks);
  const edges = needs.flatMap((list, to) => list.map((from) => ({ from, to, length: spanOf(ranks, from, to) })));
  const longestFirst = edges.filter(({ length }) => length > 1).sort((one, two) => two.length - one.length);
  let places = longestFirst.reduce((sum, { length }) => sum + length - 1, 0);
  const straight = new Set<object>();
  for (const edge of longestFirst) {
    if (places <= LANES_MAX) break;
    straight.add(edge);
    places -= edge.length - 1;
  }
  const lanes = edges.map((edge): Lane => {
    const { from, to, length } = edge;
    if (straight.has(edge)) return { from, to, via: [] };
    const via: number[] = [];
    for (let step = 1; step < length; step += 1) via.push(rank.push((ranks[from] as number) + step) - 1);
    return { from, to, via };
  });
  return { rank, lanes };
}

function spanOf(ranks: Int32Array, from: number, to: number): number {
  return (ranks[to] as number) - (ranks[from] as number);
}

/** The neighbours of each vertex: those of vertex v are `targets` from `starts[v]` to `starts[v + 1]`. */
interface Neighbours {
  readonly starts: Int32Array;
  readonly targets: Int32Array;
}

interface VertexGraph {
  readonly rank: readonly number[];
  /** The place of each vertex in its rank. */
  readonly place: Float64Array;
  readonly above: Neighbours;
  readonly below: Neighbours;
}

function linkVertices({ rank, lanes }: LaneGraph): VertexGraph {
  const links: (readonly [upper: number, lower: number])[] = [];
  for (const { from, to, via } of lanes) {
    if (via.length === 0 && Math.abs((rank[to] as number) - (rank[from] as number)) !== 1) continue;
    const path = [from, ...via, to];
    for (let at = 1; at < path.length; at += 1) links.push([path[at - 1] as number, path[at] as number]);
  }
  const place = firstPlaces(rank);
  const above = neighboursOf(rank.length, links, ([upper, lower]) => [lower, upper]);
  const below = neighboursOf(rank.length, links, (link) => link);
  return { rank, place, above, below };
}

/** Returns the place of each vertex in its rank, in the order of the vertices. */
function firstPlaces(rank: readonly number[]): Float64Array {
  const place = new Float64Array(rank.length);
  const sizes = new Int32Array(rank.length + 1);
  for (const [vertex, at] of rank.entries()) {
    place[vertex] = sizes[at] as number;
    sizes[at] = (sizes[at] as number) + 1;
  }
  return place;
}

type Link = readonly [number, number];

function neighboursOf(count: number, links: readonly Link[], turn: (link: Link) => Link): Neighbours {
  const starts = new Int32Array(count + 1);
  for (const link of links) starts[turn(link)[0] + 1] = (starts[turn(link)[0] + 1] as number) + 1;
  for (let at = 0; at < count; at += 1) starts[at + 1] = (starts[at + 1] as number) + (starts[at] as number);
  const filled = starts.slice();
  const targets = new Int32Array(links.length);
  for (const link of links) {
    const [source, target] = turn(link);
    targets[filled[source] as number] = target;
    filled[source] = (filled[source] as number) + 1;
  }
  return { starts, targets };
}

function rankLists(rank: readonly number[]): readonly Int32Array[] {
  const lists: number[][] = [];
  for (const [vertex, at] of rank.entries()) {
    while (lists.length <= at) lists.push([]);
    (lists[at] as number[]).push(vertex);
  }
  return lists.map((list) => Int32Array.from(list));
}

/** Sorting numbers is much faster than sorting with a function, so a key holds the mean place and the old place. */
const OLD_PLACES = 2 ** 15;
const FRACTIONS = 64;

/** Orders a rank by the mean place of the neighbours of each vertex. A vertex without neighbours keeps its place. */
function sortRank(list: Int32Array, place: Float64Array, { starts, targets }: Neighbours): void {
  const keys = new Float64Array(list.length);
  for (let at = 0; at < list.length; at += 1) {
    const vertex = list[at] as number;
    const first = starts[vertex] as number;
    const end = starts[vertex + 1] as number;
    let total = 0;
    for (let link = first; link < end; link += 1) total += place[targets[link] as number] as number;
    const mean = end === first ? (place[vertex] as number) : total / (end - first);
    keys[at] = Math.round(mean * FRACTIONS) * OLD_PLACES + at;
  }
  keys.sort();
  const before = list.slice();
  for (let at = 0; at < keys.length; at += 1) {
    list[at] = before[(keys[at] as number) % OLD_PLACES] as number;
    place[list[at] as number] = at;
  }
}

/** Returns the x of the middle of each vertex: near the middle of its neighbours, and apart from those beside it. */
function placeRanks(
  order: readonly Int32Array[],
  graph: VertexGraph,
  steps: number,
  { nodeWidth, gapX, laneWidth }: GraphSizes,
): Float64Array {
  const center = new Float64Array(graph.rank.length);
  const widthOf = (vertex: number): number => (vertex < steps ? nodeWidth + gapX : laneWidth);
  const offsets = order.map((list) => {
    const offset = new Float64Array(list.length);
    for (let at = 1; at < list.length; at += 1)
      offset[at] = (offset[at - 1] as number) + (widthOf(list[at - 1] as number) + widthOf(list[at] as number)) / 2;
    const middle = (offset.at(-1) ?? 0) / 2;
    for (let at = 0; at < list.length; at += 1) center[list[at] as number] = (offset[at] as number) - middle;
    return offset;
  });
  const pass = (at: number, neighbours: Neighbours): void =>
    placeRank(order[at] as Int32Array, offsets[at] as Float64Array, center, neighbours);
  for (let sweep = 0; sweep < PLACE_SWEEPS; sweep += 1) {
    for (let at = 1; at < order.length; at += 1) pass(at, graph.above);
    for (let at = order.length - 2; at >= 0; at -= 1) pass(at, graph.below);
  }
  return center;
}

function placeRank(
  list: Int32Array,
  offset: Float64Array,
  center: Float64Array,
  { starts, targets }: Neighbours,
): void {
  const wanted = new Float64Array(list.length);
  for (let at = 0; at < list.length; at += 1) {
    const vertex = list[at] as number;
    const first = starts[vertex] as number;
    const end = starts[vertex + 1] as number;
    let total = 0;
    for (let link = first; link < end; link += 1) total += center[targets[link] as number] as number;
    wanted[at] = (end === first ? (center[vertex] as number) : total / (end - first)) - (offset[at] as number);
  }
  const places = isotonicPlaces(wanted);
  for (let at = 0; at < list.length; at += 1)
    center[list[at] as number] = (places[at] as number) + (offset[at] as number);
}

interface PlacedVertices {
  readonly order: readonly Int32Array[];
  readonly center: Float64Array;
}

function toLayout(
  steps: number,
  { rank, lanes }: LaneGraph,
  { order, center }: PlacedVertices,
  { nodeWidth, nodeHeight, gapX, gapY }: GraphSizes,
): GraphLayout {
  let left = 0;
  let right = 0;
  for (const value of center) {
    left = Math.min(left, value);
    right = Math.max(right, value);
  }
  const shift = nodeWidth / 2 + gapX - left;
  const top = (vertex: number): number => gapY + (rank[vertex] as number) * (nodeHeight + gapY);
  const x = new Float64Array(steps);
  const y = new Float64Array(steps);
  for (let step = 0; step < steps; step += 1) {
    x[step] = (center[step] as number) + shift - nodeWidth / 2;
    y[step] = top(step);
  }
  const edges = lanes.map(({ from, to, via }): GraphEdge => {
    const points = [(center[from] as number) + shift, top(from) + nodeHeight];
    for (const vertex of via) {
      const middle = (center[vertex] as number) + shift;
      points.push(middle, top(vertex), middle, top(vertex) + nodeHeight);
    }
    return { from, to, points: [...points, (center[to] as number) + shift, top(to)] };
  });
  const ranks = order.map((list) => Array.from(list).filter((vertex) => vertex < steps));
  const height = gapY + order.length * (nodeHeight + gapY);
  return { width: right + shift + nodeWidth / 2 + gapX, height, x, y, ranks, edges };
}
