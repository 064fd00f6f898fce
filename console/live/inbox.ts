import { effect, signal } from "@preact/signals";
import type { RunChange } from "../../src/engine/api/list-api.ts";
import { session } from "../api/browser-login.ts";
import { callRoute } from "../api/call-route.ts";
import { type ApiProblem, toProblem } from "../api/problem.ts";
import { followChanges } from "./follow-changes.ts";

const pageSize = 100;

type Gates = Awaited<ReturnType<typeof callRoute<"gates">>>["items"];
type Doubts = Awaited<ReturnType<typeof callRoute<"inDoubt">>>["items"];

/** The gates and the acts in doubt that wait for the person of this browser. */
export interface Inbox {
  readonly gates: Gates;
  readonly doubts: Doubts;
  /** False: the server has more. */
  readonly isWhole: boolean;
}

/** The inbox as it is now, or null before it was read. The navigation counts it, and its page shows it. */
export const inbox = signal<Inbox | null>(null);
export const inboxProblem = signal<ApiProblem | null>(null);

let request = 0;

/** Reads the inbox again. */
export async function reloadInbox(): Promise<void> {
  request += 1;
  const own = request;
  try {
    const [gates, doubts] = await Promise.all([
      callRoute("gates", { status: "open", decidable: true, limit: pageSize }),
      callRoute("inDoubt", { limit: pageSize }),
    ]);
    if (own !== request) return;
    const isWhole = gates.next === null && doubts.next === null;
    inbox.value = { gates: gates.items, doubts: doubts.items, isWhole };
    inboxProblem.value = null;
  } catch (error) {
    if (own === request) inboxProblem.value = toProblem(error);
  }
}

/** Follows the inbox while the browser is logged in. Returns a function that ends it. */
export function startInbox(): () => void {
  return effect(() => {
    if (session.value.is === "out") inbox.value = null;
    if (session.value.is !== "in") return;
    void reloadInbox();
    return followChanges(concernsInbox, reloadInbox);
  });
}

/** Only a run that waits can have something for the inbox, and only one that had it can lose it. */
function concernsInbox(change: RunChange | null): boolean {
  if (change === null || change.status !== "running") return true;
  const { gates = [], doubts = [] } = inbox.peek() ?? {};
  return [...gates, ...doubts].some(({ run_id }) => run_id === change.run_id);
}

/** Returns the number of entries, such as `3` or `100+`. Empty: nothing waits. */
export function inboxCount(): string {
  if (inbox.value === null) return "";
  const { gates, doubts, isWhole } = inbox.value;
  const count = gates.length + doubts.length;
  return count === 0 ? "" : `${count}${isWhole ? "" : "+"}`;
}
