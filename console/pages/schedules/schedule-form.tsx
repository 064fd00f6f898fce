import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { callRoute } from "../../api/call-route.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { JsonField, readJson } from "../../components/json-field.tsx";

const emptyPlan = JSON.stringify({ steps: [{ step_id: "a", name: "", payload: {} }] }, null, 2);

/** Makes a schedule, or replaces the one of that name. */
export function ScheduleForm({
  onClose,
  onSaved,
}: {
  readonly onClose: () => void;
  readonly onSaved: () => Promise<void>;
}): VNode {
  const [fields, setFields] = useState({ schedule: "", cron: "0 9 * * *", zone: "UTC", catchUp: "latest" });
  const [plan, setPlan] = useState(emptyPlan);
  const read = readJson(plan);
  const set = (name: keyof typeof fields) => (event: { readonly currentTarget: { readonly value: string } }) =>
    setFields({ ...fields, [name]: event.currentTarget.value });
  return (
    <ActionDialog
      title="New schedule"
      action="Save"
      canAct={read.ok && fields.schedule !== ""}
      onClose={onClose}
      onAct={async () => {
        if (!read.ok) return;
        const { catchUp, ...others } = fields;
        await callRoute("schedules.set", { ...others, catchUp: catchUp as "latest", plan: read.value });
        await onSaved();
      }}
    >
      <label>
        Name
        <input type="text" value={fields.schedule} onInput={set("schedule")} />
      </label>
      <label>
        Cron: minute, hour, day, month, weekday
        <input type="text" class="mono" value={fields.cron} onInput={set("cron")} />
      </label>
      <label>
        Time zone
        <input type="text" value={fields.zone} onInput={set("zone")} />
      </label>
      <label>
        Times that were missed
        <select value={fields.catchUp} onChange={set("catchUp")}>
          <option value="latest">submit the latest</option>
          <option value="all">submit all of the last week</option>
          <option value="none">submit none</option>
        </select>
      </label>
      <JsonField label="Plan" text={plan} rows={9} onText={setPlan} />
      <p class="soft small">It submits the plan as you. A schedule with this name is replaced.</p>
    </ActionDialog>
  );
}
