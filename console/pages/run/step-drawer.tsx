import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { pagePaths } from "../../../src/http-api/page-paths.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { ExternalChanges } from "./external-changes.tsx";
import { shownStepState } from "./shown-step-state.ts";
import { StepActions } from "./step-actions.tsx";
import { StepChanges } from "./step-changes.tsx";
import { StepData } from "./step-data.tsx";
import type { StepPartProps } from "./step-part.tsx";
import { StepRecord } from "./step-record.tsx";
import { StepWhy } from "./step-why.tsx";
import type { LoadedRun } from "./use-run.ts";

interface StepDrawerProps {
  readonly loaded: LoadedRun;
  readonly step_id: string;
  /** Null: the run has no such step. */
  readonly index: number | null;
  readonly onStep: (step_id: string) => void;
  readonly onClose: () => void;
}

/** Everything that the journal says about a step, beside the views of its run. */
export function StepDrawer({ loaded, step_id, index, onStep, onClose }: StepDrawerProps): VNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    heading.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <aside class="drawer" aria-label={`Step ${step_id}`}>
      <div class="drawer-head">
        <h2 ref={heading} tabIndex={-1}>
          <SafeText text={step_id} />
        </h2>
        <CopyButton text={() => location.href} label="Copy the link to this step" />
        <button type="button" class="button button-quiet" aria-label="Close the step" onClick={onClose}>
          ×
        </button>
      </div>
      <div class="drawer-body">
        {index === null ? (
          <p class="soft">The run has no step of this name.</p>
        ) : (
          <StepParts
            loaded={loaded}
            index={index}
            step={loaded.view.step(index)}
            history={loaded.view.history(index)}
            onStep={onStep}
          />
        )}
      </div>
    </aside>
  );
}

function StepParts(props: StepPartProps): VNode {
  return (
    <>
      <StepSummary {...props} />
      <StepActions {...props} />
      <StepWhy {...props} />
      <StepData {...props} />
      <StepChanges {...props} />
      <ExternalChanges {...props} />
      <StepRecord {...props} />
    </>
  );
}

function StepSummary({ loaded, index, step, history, onStep }: StepPartProps): VNode {
  const { spec, standing, cause } = step;
  return (
    <section class="stack-small" aria-label="Summary">
      <p class="step-line">
        <StatusPill status={shownStepState(loaded, index)} />
        <span>
          <SafeText text={spec.kind === "operator" ? spec.name : spec.kind} />
          {history.pin !== null && <span class="soft">@{history.pin.version}</span>}
        </span>
        <span class="pill">{spec.effect}</span>
        {spec.gate === "human_confirm" && <span class="pill">the plan asks for a person</span>}
      </p>
      {"fault" in standing && (
        <div class={standing.state === "in_doubt" ? "note note-doubt" : "note note-danger"}>
          <p>
            <SafeText text={standing.fault.message} /> <code>{standing.fault.code}</code>
          </p>
        </div>
      )}
      {standing.state === "waiting_approval" && (
        <p>
          A person has to decide: <a href={pagePaths.gate(standing.gate_id)}>look at the exact call</a>.
        </p>
      )}
      {"until" in standing && standing.until !== undefined && (
        <p class="soft">
          Until <RelativeTime at={standing.until} />
        </p>
      )}
      {spec.depends_on.length > 0 && (
        <p class="small soft">
          After{" "}
          {spec.depends_on.map((id) => (
            <button key={id} type="button" class="link-button" onClick={() => onStep(id)}>
              <SafeText text={id} />
            </button>
          ))}
        </p>
      )}
      {isOfReplacedPlan(loaded, index) && <p class="small soft">It belongs to a plan that another one has replaced.</p>}
      {cause?.by === "replan" && <p class="small soft">Asks for another plan, attempt {cause.attempt}</p>}
      {cause?.by === "errand" && <p class="small soft">Asked for by {cause.of}</p>}
      {cause?.by === "undo" && (
        <p class="small soft">
          Undoes {cause.of}, asked for by {cause.asked_by}
        </p>
      )}
      {history.delegated !== null && (
        <p>
          A sub-agent does it: <a href={pagePaths.run(history.delegated)}>its run</a>.
        </p>
      )}
    </section>
  );
}

function isOfReplacedPlan({ view: { run } }: StepPartProps["loaded"], index: number): boolean {
  return run.replanning !== null && index < run.replanning.from;
}
