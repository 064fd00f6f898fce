import type { VNode } from "preact";
import type { Simulation } from "../../../src/engine/api/simulation-api.ts";
import { amountText } from "../../components/amount-text.ts";
import { JsonView } from "../../components/json-view.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";

const outcomeTones = { succeed: "good", act: "hold", fail: "danger", unknown: "soft" } as const;
const outcomes = {
  succeed: "would succeed",
  act: "would act",
  fail: "would fail",
  unknown: "unknown",
} as const;

/** The effects of a plan if it ran now: its acts, the approvals that it needs, its changes and its cost. Nothing was called. */
export function SimulationView({ simulation }: { readonly simulation: Simulation }): VNode {
  const { steps, acts, gates, changes, cost } = simulation;
  return (
    <section class="panel" aria-label="Simulation">
      <div class="panel-head">
        <h2>What would happen</h2>
        <span class="soft small">nothing was called or stored</span>
      </div>
      <div class="panel-body stack">
        <dl class="facts">
          <dt>Acts</dt>
          <dd>{acts.length === 0 ? "none" : acts.map(({ tool }) => tool).join(", ")}</dd>
          <dt>Approvals</dt>
          <dd>{gates.length === 0 ? "none" : `${gates.length} needed`}</dd>
          <dt>Changes of state</dt>
          <dd>{changes.length === 0 ? "none" : changes.length}</dd>
          <dt>Cost</dt>
          <dd>
            <CostText cost={cost} />
          </dd>
        </dl>
        {gates.map(({ step_id, reason, rule }) => (
          <p key={step_id} class="note note-hold">
            <span>
              Step <SafeText text={step_id} /> waits for an approval: <SafeText text={reason} />
            </span>
            <span class="soft small">
              <SafeText text={rule} />
            </span>
          </p>
        ))}
        <ul class="forecast-steps">
          {Object.entries(steps).map(([id, step]) => (
            <li key={id}>
              <p>
                <StatusPill status={outcomes[step.would]} tone={outcomeTones[step.would]} /> <SafeText text={id} />
              </p>
              {step.would === "fail" && (
                <p class="field-problem">
                  <SafeText text={step.fault.message} />
                </p>
              )}
              {step.would === "unknown" && (
                <p class="soft small">
                  <SafeText text={step.why} />
                </p>
              )}
              {step.would === "succeed" && <JsonView value={step.output} label={`Output of ${id}`} foldFrom={1} />}
              {step.would === "act" && <JsonView value={step.input} label={`Input of ${id}`} foldFrom={2} />}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function CostText({ cost: { least, most } }: Pick<Simulation, "cost">): VNode {
  const textOf = (estimate: object) =>
    Object.entries(estimate)
      .filter(([, amount]) => typeof amount === "number" && amount > 0)
      .map(([unit, amount]) => amountText(unit, amount as number))
      .join(", ");
  const low = textOf(least);
  const high = most === null ? "unknown" : textOf(most);
  if (low === high) return <>{low === "" ? "none" : low}</>;
  return (
    <>
      at least {low === "" ? "nothing" : low}, at most {high}
    </>
  );
}
