import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import type { JsonObject } from "../../../src/core/values/json.ts";
import { hasScope } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { useUrlQuery } from "../../app/url-query.ts";
import { JsonField, readJson } from "../../components/json-field.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { RunTermFields } from "./run-term-fields.tsx";
import { callPlan, noTerms, type RunTerms } from "./run-terms.ts";
import { SimulationView } from "./simulation-view.tsx";
import { startInput, ToolInput } from "./tool-input.tsx";
import { type CheckedPlan, type PlanSubmission, usePlanSubmission } from "./use-plan-submission.ts";
import "./new-run-page.css";

const examplePlan = JSON.stringify({ steps: [{ step_id: "first", name: "", payload: {} }] }, null, 2);

/** Starts a run: the call of one tool by a form, or a plan. It is checked and simulated before. */
export function NewRunPage(): VNode {
  const { query, change } = useUrlQuery();
  const tools = useServerValue("tools", () => callRoute("tools.list", {}));
  const [inputs, setInputs] = useState<Readonly<Record<string, JsonObject>>>({});
  const [planText, setPlanText] = useState(examplePlan);
  const [terms, setTerms] = useState<RunTerms>(noTerms);
  const isPlan = query.plan === "1";
  const tool = tools.value?.find(({ name }) => name === query.tool) ?? null;
  const input = tool === null ? {} : (inputs[tool.name] ?? startInput(tool));
  const read = readJson(planText);
  const called = tool === null ? null : callPlan(tool.name, input);
  const plan = isPlan ? (read.ok ? read.value : null) : called;
  const draft = usePlanSubmission(plan, terms);
  return (
    <>
      <PageHeader title="New run" />
      <div class="stack">
        <Tabs
          label="Kind of run"
          selected={isPlan ? "plan" : "tool"}
          onSelect={(id) => change({ plan: id === "plan" ? "1" : null })}
          tabs={[
            { id: "tool", title: "One tool" },
            { id: "plan", title: "A plan" },
          ]}
        />
        <ProblemNote problem={tools.problem} onRetry={tools.reload} />
        <div class="new-run">
          <DraftForm draft={draft} isReady={plan !== null} terms={terms} onTerms={setTerms}>
            {isPlan ? (
              <JsonField label="Plan" text={planText} rows={18} onText={setPlanText} />
            ) : (
              tools.value !== null && (
                <ToolInput
                  tools={tools.value}
                  tool={tool}
                  input={input}
                  onTool={(name) => change({ tool: name })}
                  onInput={(next) => tool !== null && setInputs({ ...inputs, [tool.name]: next })}
                />
              )
            )}
          </DraftForm>
          <div class="stack" aria-live="polite">
            {draft.checked === null ? (
              <p class="soft new-run-hint">Check it first: you see what it would do, and nothing is called.</p>
            ) : (
              <Report report={draft.checked} />
            )}
          </div>
        </div>
      </div>
    </>
  );
}

interface DraftFormProps {
  readonly draft: PlanSubmission;
  readonly isReady: boolean;
  readonly terms: RunTerms;
  readonly onTerms: (terms: RunTerms) => void;
  readonly children: ComponentChildren;
}

function DraftForm({ draft, isReady, terms, onTerms, children }: DraftFormProps): VNode {
  const { busy, problem } = draft;
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void draft.check();
      }}
    >
      {children}
      <RunTermFields terms={terms} onTerms={onTerms} />
      <div class="actions">
        <button type="submit" class="button button-quiet" disabled={!isReady || busy !== null}>
          {busy === "check" ? "Checking…" : "Check and simulate"}
        </button>
        <button
          type="button"
          class="button"
          disabled={!isReady || busy !== null || !hasScope("submit")}
          onClick={() => void draft.submit()}
        >
          {busy === "submit" ? "Starting…" : "Start the run"}
        </button>
      </div>
      <ProblemNote problem={problem} />
    </form>
  );
}

function Report({ report }: { readonly report: CheckedPlan }): VNode {
  if (report.is === "wrong")
    return (
      <div class="note note-danger" role="alert">
        <p>The plan breaks these rules:</p>
        <ul>
          {report.reasons.map((reason) => (
            <li key={reason}>
              <SafeText text={reason} />
            </li>
          ))}
        </ul>
      </div>
    );
  return (
    <>
      {report.warnings.map((warning) => (
        <p key={warning} class="note note-hold">
          <SafeText text={warning} />
        </p>
      ))}
      <SimulationView simulation={report.simulation} />
    </>
  );
}
