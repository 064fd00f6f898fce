import { useMemo } from "preact/hooks";
import { type GraphLayout, type GraphNeeds, graphSizes, layOutGraph } from "./graph-layout.ts";
import type { RunView } from "./run-view.ts";
import { type GroupedGraph, groupSteps, type OpenGroups } from "./step-groups.ts";
import { VisibleParts } from "./visible-part.ts";

/** A graph that is placed, ready to be drawn. */
export interface PlacedGraph {
  readonly grouped: GroupedGraph;
  readonly layout: GraphLayout;
  readonly parts: VisibleParts;
}

/** Places the steps of a run. They are placed again only when a step is added or a group is opened. */
export function useGraph(view: RunView, open: OpenGroups): PlacedGraph {
  const { length } = view;
  return useMemo(() => {
    const grouped = groupSteps(stepNeeds(view), (step) => view.step(step).spec.name, open);
    const layout = layOutGraph(grouped.needs);
    return { grouped, layout, parts: new VisibleParts(layout, graphSizes) };
  }, [view, length, open]);
}

/**
 * Returns the steps that each step follows. Calls of an agent follow the call before them, an undo follows its act, and
 * the first steps of another plan follow the question that it answers.
 */
export function stepNeeds(view: RunView): GraphNeeds {
  let last: number | null = null;
  let asked: number | null = null;
  return Array.from({ length: view.length }, (_, index) => {
    const { spec, cause } = view.step(index);
    if (cause?.by === "replan") {
      asked = index;
      return [index - 1];
    }
    if (cause === null && spec.depends_on.length === 0 && asked !== null) return [asked];
    if (cause === null) return spec.depends_on.flatMap((id) => view.find(id) ?? []);
    if (cause.by === "rollback") return index === 0 ? [] : [index - 1];
    if (cause.by !== "agent") return [view.find(cause.of) ?? []].flat();
    const before: readonly number[] = last === null ? [] : [last];
    last = index;
    return before;
  });
}
