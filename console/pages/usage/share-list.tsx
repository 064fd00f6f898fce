import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { amountText } from "../../components/amount-text.ts";
import { SafeText } from "../../components/safe-text.tsx";
import type { NamedAmount, SpendingUnit } from "./spending.ts";

const rowsShown = 12;

interface ShareListProps {
  readonly title: string;
  readonly amounts: readonly NamedAmount[];
  readonly unit: SpendingUnit;
  /** The page of a name. */
  readonly hrefOf: (name: string) => string;
  readonly note?: ComponentChildren;
}

/** Amounts by name, the highest first, each with its share of the highest as a bar. */
export function ShareList({ title, amounts, unit, hrefOf, note }: ShareListProps): VNode {
  const [isOpen, setOpen] = useState(false);
  const most = amounts[0]?.amount ?? 1;
  const shown = isOpen ? amounts : amounts.slice(0, rowsShown);
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {note !== undefined && <span class="soft small">{note}</span>}
      </div>
      <div class="panel-body">
        {amounts.length === 0 && <p class="soft">Nothing was spent.</p>}
        <ul class="shares">
          {shown.map(({ name, amount }) => (
            <li key={name}>
              <a href={hrefOf(name)}>
                <SafeText text={name} />
              </a>
              <span class="share-amount">{amountText(unit, amount)}</span>
              <meter min={0} max={most} value={amount} aria-label={`${title}: ${amountText(unit, amount)}`} />
            </li>
          ))}
        </ul>
        {shown.length < amounts.length && (
          <button type="button" class="side-action" onClick={() => setOpen(true)}>
            {amounts.length - shown.length} more
          </button>
        )}
      </div>
    </section>
  );
}
