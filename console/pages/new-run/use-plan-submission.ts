import { useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Json } from "../../../src/core/values/json.ts";
import type { Simulation } from "../../../src/engine/api/simulation-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { type RunTerms, termOptions } from "./run-terms.ts";

/** The answer of the server about a plan: the rules that it breaks, or its effects. */
export type CheckedPlan =
  | { readonly is: "wrong"; readonly reasons: readonly string[] }
  | { readonly is: "right"; readonly warnings: readonly string[]; readonly simulation: Simulation };

/** A plan that can be checked, simulated and started. */
export interface PlanSubmission {
  /** Null: this plan has not been checked. */
  readonly checked: CheckedPlan | null;
  readonly problem: ApiProblem | null;
  readonly busy: "check" | "submit" | null;
  check(): Promise<void>;
  /** Starts the run and shows it. Pressing twice, or again after a lost answer, is the same request. */
  submit(): Promise<void>;
}

/** Checks and starts a plan. Null as the plan: there is none yet. */
export function usePlanSubmission(plan: Json | null, terms: RunTerms): PlanSubmission {
  const { route } = useLocation();
  const [checked, setChecked] = useState<{ readonly key: string; readonly of: CheckedPlan } | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState<PlanSubmission["busy"]>(null);
  const request = useRef({ of: "", key: "" });
  const key = JSON.stringify([plan, terms]);
  const attempt = async (what: "check" | "submit", work: () => Promise<void>) => {
    setBusy(what);
    setProblem(null);
    try {
      await work();
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(null);
  };
  return {
    checked: checked?.key === key ? checked.of : null,
    problem,
    busy,
    check: () => attempt("check", async () => setChecked({ key, of: await checkPlan(plan, terms) })),
    submit: () =>
      attempt("submit", async () => {
        if (request.current.of !== key) request.current = { of: key, key: crypto.randomUUID() };
        const options = { ...termOptions(terms), requestKey: request.current.key };
        const { run_id } = await callRoute("submit", { plan, ...options });
        route(`/runs/${encodeURIComponent(run_id)}`);
      }),
  };
}

async function checkPlan(plan: Json | null, terms: RunTerms): Promise<CheckedPlan> {
  const { ok, reasons, warnings } = await callRoute("check", { plan });
  if (!ok) return { is: "wrong", reasons: reasons.map(reasonText) };
  const simulation = await callRoute("simulate", { plan, ...termOptions(terms) });
  return { is: "right", warnings: warnings.map(reasonText), simulation };
}

function reasonText({ path, message }: { readonly path: string; readonly message: string }): string {
  return `${path || "/"}: ${message}`;
}
