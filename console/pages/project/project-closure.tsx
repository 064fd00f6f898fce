import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { hasScope } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { useServerValue } from "../../live/use-server-value.ts";

/** Whether the project is locked, and the way to lock and to open it. */
export function ProjectClosure({ project }: { readonly project: string }): VNode {
  const { value, isLoading, reload } = useServerValue(`closure of ${project}`, () =>
    callRoute("projects.closure", { project }),
  );
  const [isAsked, setAsked] = useState(false);
  const [how, setHow] = useState<"locked" | "archived">("locked");
  const isOpen = value === null;
  return (
    <>
      {!isOpen && <StatusPill status={value.how} tone="hold" />}
      <button
        type="button"
        class="button button-quiet"
        disabled={isLoading || !hasScope("admin")}
        onClick={() => setAsked(true)}
      >
        {isOpen ? "Lock…" : "Open again…"}
      </button>
      {isAsked && (
        <ActionDialog
          title={isOpen ? "Lock the project" : "Open the project again"}
          action={isOpen ? "Lock" : "Open"}
          isDangerous={isOpen}
          reason={isOpen ? "required" : "optional"}
          onClose={() => setAsked(false)}
          onAct={async (reason) => {
            if (isOpen) await callRoute("projects.close", { project, as: how, reason });
            else await callRoute("projects.open", { project, ...(reason !== "" && { reason }) });
            await reload();
          }}
        >
          {isOpen ? (
            <label>
              How
              <select value={how} onChange={({ currentTarget }) => setHow(currentTarget.value as typeof how)}>
                <option value="locked">locked: for now</option>
                <option value="archived">archived: for good</option>
              </select>
            </label>
          ) : (
            <p class="soft">Steps that were refused meanwhile stay refused.</p>
          )}
          {isOpen && <p class="soft">Every call of its runs is refused, except undos.</p>}
        </ActionDialog>
      )}
    </>
  );
}
