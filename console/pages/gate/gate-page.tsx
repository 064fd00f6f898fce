import type { VNode } from "preact";
import { useRoute } from "preact-iso";
import { GateDetail } from "../../decisions/gate-detail.tsx";
import "../../decisions/decisions.css";

/** One held call, at an address of its own. */
export function GatePage(): VNode {
  const { params } = useRoute();
  return (
    <>
      <p class="back">
        <a href="/">Inbox</a>
      </p>
      <div class="panel gate-panel">
        <GateDetail level={1} gate_id={params.id ?? ""} />
      </div>
    </>
  );
}
