import type { GraphLayout, GraphSizes } from "./graph-layout.ts";

/** A part of the drawing, in its pixels. */
export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface VisiblePart {
  readonly nodes: readonly number[];
  /** Indices of edges of the layout. */
  readonly edges: readonly number[];
}

/** Finds what a viewport shows, at a cost that follows what it shows and not the size of the graph. */
export class VisibleParts {
  readonly #layout: GraphLayout;
  readonly #sizes: GraphSizes;
  /** By the band below each rank, the edges that pass it. */
  readonly #bands: readonly (readonly number[])[];

  constructor(layout: GraphLayout, sizes: GraphSizes) {
    this.#layout = layout;
    this.#sizes = sizes;
    const bands: number[][] = layout.ranks.map(() => []);
    for (const [edge, { points }] of layout.edges.entries()) {
      const first = this.#rankAt(points[1] as number);
      const last = this.#rankAt((points.at(-1) as number) - sizes.gapY);
      for (let rank = first; rank <= last; rank += 1) bands[rank]?.push(edge);
    }
    this.#bands = bands;
  }

  within({ x, y, width, height }: Viewport): VisiblePart {
    const { ranks } = this.#layout;
    const nodes: number[] = [];
    const edges = new Set<number>();
    const first = Math.max(0, this.#rankAt(y) - 1);
    const last = Math.min(ranks.length - 1, this.#rankAt(y + height) + 1);
    for (let rank = first; rank <= last; rank += 1) {
      this.#addNodes(nodes, ranks[rank] as readonly number[], x, x + width);
      for (const edge of this.#bands[rank] ?? []) if (this.#passes(edge, x, x + width)) edges.add(edge);
    }
    return { nodes, edges: [...edges] };
  }

  #rankAt(y: number): number {
    const { nodeHeight, gapY } = this.#sizes;
    return Math.floor((y - gapY) / (nodeHeight + gapY));
  }

  /** Within a rank, nodes are ordered from left to right. */
  #addNodes(nodes: number[], rank: readonly number[], left: number, right: number): void {
    const { x } = this.#layout;
    let low = 0;
    let high = rank.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((x[rank[middle] as number] as number) + this.#sizes.nodeWidth < left) low = middle + 1;
      else high = middle;
    }
    for (let at = low; at < rank.length && (x[rank[at] as number] as number) <= right; at += 1)
      nodes.push(rank[at] as number);
  }

  #passes(edge: number, left: number, right: number): boolean {
    const { points } = this.#layout.edges[edge] as GraphLayout["edges"][number];
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    for (let at = 0; at < points.length; at += 2) {
      least = Math.min(least, points[at] as number);
      most = Math.max(most, points[at] as number);
    }
    return most >= left && least <= right;
  }
}

/** Returns an edge as the path of an SVG element: straight through the ranks, curved between them. */
export function edgePath(points: readonly number[]): string {
  const at = (index: number): string => (points[index] as number).toFixed(1);
  let path = `M${at(0)} ${at(1)}`;
  for (let index = 2; index < points.length; index += 2) {
    const isPass = points[index] === points[index - 2];
    const middle = (((points[index + 1] as number) + (points[index - 1] as number)) / 2).toFixed(1);
    path += isPass
      ? `V${at(index + 1)}`
      : `C${at(index - 2)} ${middle} ${at(index)} ${middle} ${at(index)} ${at(index + 1)}`;
  }
  return path;
}
