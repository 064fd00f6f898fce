import type { ComponentChildren, VNode } from "preact";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import type { StartedScenario } from "./demo-state.ts";
import { WaitingForYou } from "./waiting-for-you.tsx";

/** One step of the walk: what it shows, what to do, and what became of its last start. */
export function ScenarioCard({
  number,
  title,
  about,
  steps,
  last,
  actions,
  children,
}: {
  readonly number: number;
  readonly title: string;
  readonly about: string;
  readonly steps: readonly ComponentChildren[];
  readonly last: StartedScenario | null;
  readonly actions: ComponentChildren;
  readonly children?: ComponentChildren;
}): VNode {
  return (
    <section class="panel demo-card" aria-labelledby={`scenario-${number}`}>
      <div class="demo-card-head">
        <span class="demo-number" aria-hidden="true">
          {number}
        </span>
        <h2 id={`scenario-${number}`}>{title}</h2>
        <div class="actions">{actions}</div>
      </div>
      <div class="demo-card-body">
        <p>{about}</p>
        <ol class="demo-steps">
          {steps.map((step, at) => (
            <li key={at}>{step}</li>
          ))}
        </ol>
        {last !== null && <LastStart last={last} />}
        {children}
      </div>
    </section>
  );
}

function LastStart({ last }: { readonly last: StartedScenario }): VNode {
  const { title, state, run_id, session, said, problem } = last;
  return (
    <div class="demo-last">
      <p class="demo-last-line">
        <StatusPill status={state} />
        <span>{title}</span>
        {run_id !== null && <a href={`/runs/${encodeURIComponent(run_id)}`}>Run</a>}
        {run_id !== null && session !== null && <a href={`/sessions/${encodeURIComponent(run_id)}`}>Conversation</a>}
      </p>
      {run_id !== null && <WaitingForYou run_id={run_id} />}
      {said !== undefined && (
        <blockquote>
          <SafeText text={said} />
        </blockquote>
      )}
      {problem !== undefined && (
        <p class="note note-danger">
          <SafeText text={problem} />
        </p>
      )}
    </div>
  );
}
