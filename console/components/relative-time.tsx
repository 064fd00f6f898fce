import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { relativeTimeText } from "./relative-time-text.ts";

/** One clock for all times on the page. */
const clock = signal(Date.now());
setInterval(() => {
  if (!document.hidden) clock.value = Date.now();
}, 5000);

/** Made once: a formatter costs more than a row of a list. */
const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A time relative to now, and on hover the exact one in the zone of the reader and in UTC. */
export function RelativeTime({ at }: { readonly at: number }): VNode {
  const date = new Date(at);
  const title = `${exactTime.format(date)} (${date.toISOString()})`;
  return (
    <time dateTime={date.toISOString()} title={title}>
      {relativeTimeText(at, Math.max(clock.value, Date.now()))}
    </time>
  );
}
