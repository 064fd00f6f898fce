import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { relativeTimeText } from "./relative-time-text.ts";

/** One clock for all times on the page. */
const clock = signal(Date.now());
setInterval(() => {
  if (!document.hidden) clock.value = Date.now();
}, 5000);

/** A time relative to now, and on hover the exact one in the zone of the reader and in UTC. */
export function RelativeTime({ at }: { readonly at: number }): VNode {
  const date = new Date(at);
  const title = `${date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" })} (${date.toISOString()})`;
  return (
    <time dateTime={date.toISOString()} title={title}>
      {relativeTimeText(at, Math.max(clock.value, Date.now()))}
    </time>
  );
}
