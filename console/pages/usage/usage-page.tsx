import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { callRoute } from "../../api/call-route.ts";
import { addressOf, useUrlQuery } from "../../app/url-query.ts";
import { amountText } from "../../components/amount-text.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { BudgetList } from "./budget-list.tsx";
import { DayChart } from "./day-chart.tsx";
import { ShareList } from "./share-list.tsx";
import {
  amountsByDay,
  amountsByPrincipal,
  daysUntil,
  highestFirst,
  type SpendingUnit,
  spendingUnits,
  unitTitles,
} from "./spending.ts";
import "./usage-page.css";

const ranges = [7, 30, 90] as const;
const runsRead = 500;

/** The spending by day, by principal and by tool, and how fast the limits are used up. */
export function UsagePage(): VNode {
  const { query, change } = useUrlQuery();
  const count = ranges.find((range) => String(range) === query.days) ?? 30;
  const unit = spendingUnits.find((each) => each === query.unit) ?? "usd_micros";
  const by = query.by ?? null;
  const today = new Date().toISOString().slice(0, 10);
  const days = useMemo(() => daysUntil(Date.parse(today), count), [today, count]);
  const range = { from: days[0] as string, to: days.at(-1) as string, ...(by !== null && { by }) };
  const spent = useServerValue(JSON.stringify(range), () => callRoute("spentByDay", range));
  const rows = spent.value?.days ?? [];
  const byDay = amountsByDay(rows, days, unit);
  const total = byDay.reduce((sum, { amount }) => sum + amount, 0);
  return (
    <>
      <UsageHeader count={count} unit={unit} by={by} onChange={change} />
      <div class="stack">
        <ProblemNote problem={spent.problem} onRetry={spent.reload} />
        {spent.value !== null && total === 0 ? (
          <NothingSpent count={count} />
        ) : (
          <section class="panel" aria-label="Spending per day">
            <div class="panel-body">
              <p class="usage-total">{amountText(unit, total)}</p>
              <DayChart days={byDay} unit={unit} />
              {spent.value?.complete === false && (
                <p class="note note-hold">The range has more principals than one report reads; choose fewer days.</p>
              )}
            </div>
          </section>
        )}
        <div class="usage-columns">
          <ShareList
            title="By principal"
            amounts={amountsByPrincipal(rows, unit)}
            unit={unit}
            hrefOf={(name) => addressOf("/usage", { ...query, by: name })}
          />
          <ToolSpending unit={unit} />
        </div>
        <BudgetList by={by} />
      </div>
    </>
  );
}

interface UsageHeaderProps {
  readonly count: number;
  readonly unit: SpendingUnit;
  readonly by: string | null;
  readonly onChange: (fields: Readonly<Record<string, string | null>>) => void;
}

function UsageHeader({ count, unit, by, onChange }: UsageHeaderProps): VNode {
  return (
    <PageHeader
      title="Usage"
      actions={
        <>
          <Choice
            label="Range"
            value={String(count)}
            options={ranges.map((each) => [String(each), `${each} days`])}
            onChoose={(value) => onChange({ days: value })}
          />
          <Choice
            label="Unit"
            value={unit}
            options={spendingUnits.map((each) => [each, unitTitles[each]])}
            onChoose={(value) => onChange({ unit: value })}
          />
        </>
      }
    >
      {by !== null && (
        <span>
          Only <SafeText text={by} />{" "}
          <button type="button" class="side-action" onClick={() => onChange({ by: null })}>
            Show all
          </button>
        </span>
      )}
    </PageHeader>
  );
}

function NothingSpent({ count }: { readonly count: number }): VNode {
  return (
    <EmptyState title={`Nothing was spent in ${count} days`}>
      <p>
        A tool reports its cost with <code>context.cost</code>, or declares it with <code>cost</code>. Model calls
        through the adapters are counted by themselves.
      </p>
    </EmptyState>
  );
}

/** Sums per tool are not stored: they are read from the latest runs. */
function ToolSpending({ unit }: { readonly unit: SpendingUnit }): VNode {
  const { value, problem } = useServerValue("tools", () => callRoute("tools.activity", { runs: runsRead }));
  const amounts = (value?.tools ?? []).map(({ tool, spent }) => ({ name: tool, amount: spent[unit] ?? 0 }));
  if (problem !== null) return <ProblemNote problem={problem} />;
  return (
    <ShareList
      title="By tool"
      amounts={highestFirst(amounts)}
      unit={unit}
      hrefOf={(name) => addressOf("/tools", { tool: name })}
      note={value !== null && `in ${value.complete ? "all" : "the latest"} ${value.runs} runs`}
    />
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, title: string])[];
  readonly onChoose: (value: string) => void;
}

function Choice({ label, value, options, onChoose }: ChoiceProps): VNode {
  return (
    <label class="field">
      <span class="unseen">{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {options.map(([each, title]) => (
          <option key={each} value={each}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}
