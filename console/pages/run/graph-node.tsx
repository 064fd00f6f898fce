import type { VNode } from "preact";
import { durationText } from "../../components/relative-time-text.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { shownStepState } from "./shown-step-state.ts";
import type { StepGroup } from "./step-groups.ts";
import { StepLink } from "./step-link.tsx";
import { type StepLook, stepLooks } from "./step-look.ts";
import type { LoadedRun } from "./use-run.ts";
import { phaseTotals } from "./waterfall.ts";

interface GraphNodeProps {
  readonly loaded: LoadedRun;
  readonly group: StepGroup;
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
  /** The index of the step that is open. */
  readonly selected: number | null;
  readonly onStep: (step_id: string) => void;
  readonly onOpen: (group: StepGroup) => void;
}

/** A step of the graph, or steps that are drawn as one. */
export function GraphNode(props: GraphNodeProps): VNode {
  const { x, y, zoom, group } = props;
  return (
    <li class="graph-place" style={{ transform: `translate(${x}px, ${y}px) scale(${zoom})` }}>
      {group.kind === "step" ? <StepNode {...props} /> : <GroupNode {...props} />}
    </li>
  );
}

function StepNode({ loaded, group, selected, onStep }: GraphNodeProps): VNode {
  const index = group.steps[0] as number;
  const { spec, attempts } = loaded.view.step(index);
  const look = stepLooks[shownStepState(loaded, index)];
  const { running } = phaseTotals(loaded.view.history(index), loaded.view.updated_at ?? 0);
  return (
    <StepLink
      step_id={spec.step_id}
      onStep={onStep}
      isSelected={selected === index}
      class={`graph-node tone-${look.tone}`}
    >
      <span class="graph-sign" aria-hidden="true">
        {look.sign}
      </span>
      <span class="graph-name">
        <SafeText text={spec.step_id} />
      </span>
      <span class="graph-tool">
        <SafeText text={spec.kind === "operator" ? spec.name : spec.kind} />
      </span>
      <span class="graph-more">
        {attempts > 1 && <span title="attempts">×{attempts}</span>}
        {spec.effect === "acts" && <span class="effect-mark">act</span>}
        {running > 0 && <span>{durationText(running)}</span>}
      </span>
      <span class="unseen">{look.words}</span>
    </StepLink>
  );
}

function GroupNode({ loaded, group, onOpen }: GraphNodeProps): VNode {
  const counts = countLooks(loaded, group);
  const first = loaded.view.step(group.steps[0] as number).spec;
  const last = loaded.view.step(group.steps.at(-1) as number).spec;
  return (
    <button type="button" class="graph-node graph-group" onClick={() => onOpen(group)}>
      <span class="graph-name">
        {group.steps.length.toLocaleString("en")} × <SafeText text={first.name} />
      </span>
      <span class="graph-tool">
        <SafeText text={first.step_id} /> … <SafeText text={last.step_id} />
        {group.kind === "chain" ? ", one after another" : ""}
      </span>
      <span class="graph-counts">
        {[...counts].map(([look, count]) => (
          <span key={look.words} class={`graph-count tone-${look.tone}`}>
            {look.sign} {count.toLocaleString("en")}
            <span class="unseen"> {look.words}</span>
          </span>
        ))}
      </span>
    </button>
  );
}

function countLooks(loaded: LoadedRun, { steps }: StepGroup): ReadonlyMap<StepLook, number> {
  const counts = new Map<StepLook, number>();
  for (const step of steps) {
    const look = stepLooks[shownStepState(loaded, step)];
    counts.set(look, (counts.get(look) ?? 0) + 1);
  }
  return counts;
}
