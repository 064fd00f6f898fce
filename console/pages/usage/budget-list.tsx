import type { VNode } from "preact";
import type { BudgetView } from "../../../src/engine/api/engine-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { amountText } from "../../components/amount-text.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { burnDown } from "./burn-down.ts";

/** The limits in force, with how fast each is used up. */
export function BudgetList({ by }: { readonly by: string | null }): VNode {
  const { value, problem, reload } = useServerValue(
    `budgets ${by}`,
    () => callRoute("budgets", by === null ? {} : { by }),
    {
      follows: () => true,
    },
  );
  const counted = (value ?? []).filter(({ tally }) => tally !== null);
  return (
    <section aria-label="Budgets" class="stack">
      <h2>Budgets and rates</h2>
      <ProblemNote problem={problem} onRetry={reload} />
      {value !== null && counted.length === 0 && (
        <EmptyState title="No limit is set">
          <p>
            <code>budgets</code> and <code>rates</code> in <code>writ.config.mjs</code>, or a policy with a rule of the
            kind <code>budget</code>, stop calls before they overspend.
          </p>
        </EmptyState>
      )}
      <ul class="budgets">
        {counted.map((budget) => (
          <li key={`${budget.of} ${budget.tally}`} class="panel panel-body">
            <Budget budget={budget} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Budget({ budget }: { readonly budget: BudgetView }): VNode {
  const { unit, per, tool, rule, limit, used, left, exhausted_at, forecast, alert } = budget;
  return (
    <>
      <div class="section-head">
        <h3>
          {amountText(unit, limit)} per {per.replace("-", " and ")}
          {tool !== null && (
            <>
              {" for "}
              <SafeText text={tool} />
            </>
          )}
        </h3>
        {alert !== null && <StatusPill status={`${alert} % used`} tone={alert === 100 ? "danger" : "hold"} />}
      </div>
      <BurnDownChart budget={budget} />
      <p class="small">
        {amountText(unit, used)} used, <strong>{amountText(unit, left)}</strong> left
        {forecast !== null && (
          <span class="soft">, {amountText(unit, Math.round(forecast))} at the end at this pace</span>
        )}
      </p>
      {exhausted_at !== null && (
        <p class="small budget-ends">
          Used up <RelativeTime at={exhausted_at} /> at this pace
        </p>
      )}
      {rule !== null && (
        <p class="soft small">
          Set by <SafeText text={rule} />
        </p>
      )}
    </>
  );
}

const size = { width: 300, height: 64 } as const;

/** The rest of the limit from the begin of its window to now, and at the pace of now to its end. */
function BurnDownChart({ budget }: { readonly budget: BudgetView }): VNode {
  const lines = burnDown(budget, Date.now(), size);
  if (lines === null)
    return <meter class="budget-meter" min={0} max={budget.limit} value={budget.used} aria-label="Used" />;
  return (
    <svg
      viewBox={`0 0 ${size.width} ${size.height}`}
      class="burn-down"
      role="img"
      aria-label="The rest of the limit over time"
    >
      <line class="burn-even" x1={0} y1={0} x2={size.width} y2={size.height} />
      <polyline class="burn-past" points={lines.past} />
      <polyline class="burn-future" points={lines.future} />
      <circle class="burn-now" cx={lines.now.x} cy={lines.now.y} r={3.5} />
    </svg>
  );
}
