import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { actInDemo, type DemoAction } from "./demo-api.ts";
import type { DemoState } from "./demo-state.ts";
import { EffectCounts } from "./effect-counts.tsx";
import { Scenarios } from "./scenarios.tsx";
import { ServerPanel } from "./server-panel.tsx";
import { useDemo } from "./use-demo.ts";
import "./demo.css";

/** The walk through the demo: scenarios to start, the effects outside, and the button that kills the server. */
export function DemoPage(): VNode {
  const demo = useDemo();
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const act = (action: DemoAction) => {
    void actInDemo(action)
      .then(
        () => setProblem(null),
        (error: unknown) => setProblem(toProblem(error)),
      )
      .then(demo.reload);
  };
  const state = demo.value;
  const isReachable = demo.problem === null && (state?.server.is_up ?? false);
  return (
    <>
      <PageHeader title="Ten minutes with Writ">
        <span>Agents ask to act. You decide. The server may die at any moment, and nothing is done twice.</span>
        {state !== null && <span>Model: {modelText(state.model)}</span>}
      </PageHeader>
      {state === null ? (
        <ProblemNote problem={demo.problem} onRetry={demo.reload} />
      ) : (
        <div class="stack">
          <ServerPanel state={state} isReachable={isReachable} onAct={act} />
          <EffectCounts state={state} />
          <ProblemNote problem={problem} />
          <div class="demo-columns">
            <div class="stack">
              <Scenarios state={state} isReachable={isReachable} onAct={act} onRestored={() => void demo.reload()} />
            </div>
            <History state={state} />
          </div>
        </div>
      )}
    </>
  );
}

function modelText({ kind, name }: DemoState["model"]): string {
  if (kind === "scripted") return "scripted, on this machine; set ANTHROPIC_API_KEY or OPENAI_API_KEY for a real one";
  return `${name} of ${kind === "openai" ? "OpenAI or a compatible provider" : "Anthropic"}`;
}

function History({ state: { history } }: { readonly state: DemoState }): VNode {
  return (
    <section class="panel demo-history" aria-label="Events">
      <div class="panel-head">
        <h2>Events</h2>
      </div>
      <ol>
        {history.toReversed().map(({ at, text }, index) => (
          <li key={history.length - index}>
            <span class="soft small">
              <ClockTime at={at} />
            </span>
            <span>{text}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function ClockTime({ at }: { readonly at: number }): VNode {
  const date = new Date(at);
  return <time dateTime={date.toISOString()}>{date.toLocaleTimeString()}</time>;
}
