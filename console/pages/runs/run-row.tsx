import type { VNode } from "preact";
import type { RunRow } from "../../../src/core/store/tables.ts";
import { usdText } from "../../components/amount-text.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";

interface RunRowProps {
  readonly row: RunRow;
  readonly isCurrent: boolean;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}

/** Returns the words by which a reader knows the run: its title, or the best of what is recorded. */
function nameOf({ title, plan_id, tools, agent, session, run_id }: RunRow): string {
  return title ?? plan_id ?? agent ?? tools?.[0] ?? session ?? run_id;
}

/** The names of the columns, for the eye: each row is a link whose text says the same. */
export function RunListHead(): VNode {
  return (
    <div class="runs-head" aria-hidden="true">
      <span class="run-cells">
        <span class="run-status">Status</span>
        <span class="run-name">Run</span>
        <span class="run-tools">Tools</span>
        <span class="run-waits">Waits for</span>
        <span class="run-steps">Steps</span>
        <span class="run-cost">Cost</span>
        <span class="run-time">Accepted</span>
      </span>
    </div>
  );
}

/** One run of the list. All of it is a link, except the box that chooses it. */
export function RunListRow({ row, isCurrent, isChosen, onChoose }: RunRowProps): VNode {
  const name = nameOf(row);
  const { run_id, status, tools = [], waiting_for = [], steps = 0, done = 0, spent = {}, accepted_at } = row;
  return (
    <div class={isCurrent ? "run-row run-row-current" : "run-row"}>
      <input
        type="checkbox"
        aria-label={`Choose ${name}`}
        checked={isChosen}
        onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
      />
      <a class="run-cells" href={`/runs/${encodeURIComponent(run_id)}`}>
        <span class="run-status">
          <StatusPill status={status} />
        </span>
        <span class="run-name">
          <span class="run-title">
            <SafeText text={name} />
          </span>
          <span class="run-facts">
            <AdviceFacts row={row} />
          </span>
        </span>
        <span class="run-tools">
          {tools.length > 0 && tools.join() !== name && <SafeText text={toolsText(tools)} />}
        </span>
        <span class="run-waits">
          {waiting_for.length > 0 && (
            <>
              <span class="unseen">waits for </span>
              {waiting_for.join(", ")}
            </>
          )}
        </span>
        <span class="run-steps" title={`${done} of ${steps} steps have ended`}>
          {steps > 0 && `${done}/${steps}`}
        </span>
        <span class="run-cost">{spent.usd_micros !== undefined && usdText(spent.usd_micros)}</span>
        <span class="run-time">
          <RelativeTime at={accepted_at} />
        </span>
      </a>
    </div>
  );
}

function toolsText(tools: readonly string[]): string {
  return tools.length <= 2 ? tools.join(", ") : `${tools.slice(0, 2).join(", ")} and ${tools.length - 2} more`;
}

function AdviceFacts({ row: { principal, project, session, labels = [], run_id } }: { readonly row: RunRow }): VNode {
  return (
    <>
      <SafeText text={principal} />
      {project !== undefined && (
        <>
          {" · "}
          <SafeText text={project} />
        </>
      )}
      {session !== undefined && (
        <>
          {" · session "}
          <SafeText text={session} />
        </>
      )}
      {labels.map((label) => (
        <span key={label} class="run-label">
          <SafeText text={label} />
        </span>
      ))}
      <span class="mono run-id"> …{run_id.slice(-8)}</span>
    </>
  );
}
