import type { VNode } from "preact";
import { countEffects, type DemoState, type EffectCount } from "./demo-state.ts";

/** The effects that the world outside of Writ has counted, and how many of them were done twice. */
export function EffectCounts({ state }: { readonly state: DemoState }): VNode {
  return (
    <dl class="demo-counts">
      <Count
        title="Mails received"
        count={countEffects(state.mails, ({ message_id, to }) => `${message_id} ${to}`)}
        link={{ href: "/demo/mailbox", text: "Open the mailbox" }}
      />
      <Count title="Refunds paid" count={countEffects(state.refunds, ({ order }) => String(order))} />
      <Count title="Invoices paid" count={countEffects(state.invoices, ({ invoice }) => invoice)} />
    </dl>
  );
}

function Count({
  title,
  count: { total, repeated },
  link,
}: {
  readonly title: string;
  readonly count: EffectCount;
  readonly link?: { readonly href: string; readonly text: string };
}): VNode {
  return (
    <div class="panel demo-count">
      <dt>{title}</dt>
      <dd>
        <span class="demo-total">{total}</span>
        <span class={repeated === 0 ? "demo-once" : "demo-twice"}>{repeated} done twice</span>
        {link !== undefined && <a href={link.href}>{link.text}</a>}
      </dd>
    </div>
  );
}
