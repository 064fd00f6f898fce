import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { durationText } from "../../components/relative-time-text.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { shownStepState } from "./shown-step-state.ts";
import type { PhaseKind } from "./step-history.ts";
import { StepLink } from "./step-link.tsx";
import { phaseWords, stepLooks } from "./step-look.ts";
import { TimeAxis } from "./time-axis.ts";
import type { LoadedRun } from "./use-run.ts";
import { phaseTotals, queueDelay, type WaterfallRow, waterfallRows } from "./waterfall.ts";

interface RunWaterfallProps {
  readonly loaded: LoadedRun;
  readonly selected: string | null;
  readonly onStep: (step_id: string) => void;
}

const legend: readonly PhaseKind[] = ["queued", "running", "person", "waiting", "retrying", "doubt", "undoing"];
const tickPlaces = [0, 0.25, 0.5, 0.75, 1];

/** The times of the steps: one row each, in the order in which they became ready. */
export function RunWaterfall({ loaded, selected, onStep }: RunWaterfallProps): VNode {
  const { view, version } = loaded;
  const now = view.run.ended?.at ?? Math.max(Date.now(), view.updated_at ?? 0);
  const [rows, axis] = useMemo(() => [waterfallRows(view, now), TimeAxis.of(view, now)] as const, [view, version]);
  const place = selected === null ? -1 : rows.findIndex(({ index }) => view.step(index).spec.step_id === selected);
  return (
    <div class="waterfall">
      <ul class="legend" aria-label="Colours">
        {legend.map((kind) => (
          <li key={kind}>
            <span class={`phase phase-${kind}`} aria-hidden="true" /> {phaseWords[kind]}
          </li>
        ))}
      </ul>
      <AxisHead axis={axis} from={view.run.accepted_at} />
      <VirtualList
        label="Times of the steps"
        class="waterfall-rows"
        count={rows.length}
        rowHeight={34}
        keyOf={(at) => String(rows[at]?.index)}
        selected={place}
        row={(at) => (
          <WaterfallLine
            row={rows[at] as WaterfallRow}
            loaded={loaded}
            axis={axis}
            now={now}
            isSelected={at === place}
            onStep={onStep}
          />
        )}
      />
    </div>
  );
}

function AxisHead({ axis, from }: { readonly axis: TimeAxis; readonly from: number }): VNode {
  return (
    <div class="axis" aria-hidden="true">
      {tickPlaces.map((place) => (
        <span key={place} class="axis-tick" style={{ left: `${place * 100}%` }}>
          {place === 0 ? "0" : `+${durationText(axis.timeAt(place) - from)}`}
        </span>
      ))}
      {axis.breaks.map((part) => (
        <span
          key={part.from}
          class="axis-break"
          style={{
            left: `${axis.place(part.from) * 100}%`,
            width: `${(axis.place(part.until) - axis.place(part.from)) * 100}%`,
          }}
        />
      ))}
    </div>
  );
}

interface WaterfallLineProps {
  readonly row: WaterfallRow;
  readonly loaded: LoadedRun;
  readonly axis: TimeAxis;
  readonly now: number;
  readonly isSelected: boolean;
  readonly onStep: (step_id: string) => void;
}

function WaterfallLine({ row, loaded, axis, now, isSelected, onStep }: WaterfallLineProps): VNode {
  const { spec, attempts } = loaded.view.step(row.index);
  const history = loaded.view.history(row.index);
  const look = stepLooks[shownStepState(loaded, row.index)];
  const totals = phaseTotals(history, now);
  const told = legend
    .filter((kind) => totals[kind] > 0)
    .map((kind) => `${phaseWords[kind]} ${durationText(totals[kind])}`);
  const delay = queueDelay(history);
  return (
    <StepLink step_id={spec.step_id} onStep={onStep} isSelected={isSelected} class="waterfall-row">
      <span class="waterfall-name">
        <span class={`sign tone-${look.tone}`} aria-hidden="true">
          {look.sign}
        </span>
        <SafeText text={spec.step_id} />
        <span class="unseen">
          {look.words}. {told.join(", ")}
        </span>
        {attempts > 1 && <span class="soft small"> ×{attempts}</span>}
      </span>
      <span class="waterfall-track" title={told.join("\n")} aria-hidden="true">
        {history.phases.map((phase) => (
          <span
            key={phase.from}
            class={`phase phase-${phase.kind}${phase.until === null ? " phase-now" : ""}`}
            style={{
              left: `${axis.place(phase.from) * 100}%`,
              width: `max(2px, ${(axis.place(phase.until ?? now) - axis.place(phase.from)) * 100}%)`,
            }}
          />
        ))}
      </span>
      <span class="waterfall-time">
        {durationText(totals.running)}
        {delay !== null && delay >= 100 && <span class="soft"> after {durationText(delay)}</span>}
      </span>
    </StepLink>
  );
}
