import type { VNode } from "preact";
import { StatusPill } from "../../components/status-pill.tsx";
import type { DemoAction } from "./demo-api.ts";
import type { DemoState } from "./demo-state.ts";

const moments = {
  mail: "The mail is in the mailbox. The server has no answer yet.",
  payment: "The bank has paid. The agent has no answer yet.",
  invoice: "The invoice is paid. The server will get no answer.",
} as const;

/** The process of the server, and the two ways to kill it. */
export function ServerPanel({
  state: { server, acting, is_armed },
  isReachable,
  onAct,
}: {
  readonly state: DemoState;
  readonly isReachable: boolean;
  readonly onAct: (action: DemoAction) => void;
}): VNode {
  const moment = isReachable ? acting : null;
  const kills = `killed ${server.kills === 1 ? "once" : `${server.kills} times`}`;
  return (
    <section class={moment === null ? "panel demo-server" : "panel demo-server demo-moment"} aria-label="The server">
      <div class="demo-server-text" role="status">
        <p class="demo-server-line">
          <strong>Server</strong>
          {isReachable ? <StatusPill status="running" tone="good" /> : <StatusPill status="dead" tone="danger" />}
          <span class="soft">
            {isReachable ? `process ${server.pid ?? "…"}, ${kills}` : "starts again in a moment"}
          </span>
        </p>
        <p>
          {isReachable ? momentText(moment) : "Everything it did is on record. The next process continues from there."}
        </p>
      </div>
      <div class="demo-kill">
        <button
          type="button"
          class="button button-danger demo-kill-now"
          disabled={!isReachable}
          onClick={() => onAct("kill")}
        >
          Kill the server now
        </button>
        <label>
          <input
            type="checkbox"
            checked={is_armed}
            disabled={!isReachable}
            onChange={() => onAct(is_armed ? "disarm" : "arm")}
          />
          <span>Kill it right after the next mail or payment</span>
        </label>
      </div>
    </section>
  );
}

function momentText(acting: DemoState["acting"]): string {
  if (acting === null)
    return "Kill it whenever you like, best while something is under way. It starts again by itself.";
  return `${moments[acting.what]} This is the worst moment for a crash.`;
}
