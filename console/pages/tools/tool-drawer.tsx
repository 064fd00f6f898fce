import type { VNode } from "preact";
import { callRoute } from "../../api/call-route.ts";
import { addressOf } from "../../app/url-query.ts";
import { amountText } from "../../components/amount-text.ts";
import { Dialog } from "../../components/dialog.tsx";
import { EffectMark } from "../../components/effect-mark.tsx";
import { JsonView } from "../../components/json-view.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { durationText } from "../../components/relative-time-text.ts";
import { RunLink } from "../../components/run-link.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import { successText } from "./tool-success.ts";
import type { KnownTool } from "./tools-page.tsx";

/** Everything that is known about one tool. */
export function ToolDrawer({ tool, onClose }: { readonly tool: KnownTool; readonly onClose: () => void }): VNode {
  const { name, view, activity } = tool;
  return (
    <Dialog title={name} place="side" onClose={onClose}>
      <div class="stack">
        {view === null ? (
          <p class="note note-hold">
            Recorded runs have called this tool, but this server does not have it. Steps that need it wait for a worker
            that does.
          </p>
        ) : (
          <Declaration view={view} />
        )}
        <div class="actions">
          {view !== null && (
            <a class="button" href={addressOf("/new", { tool: name })}>
              Call it
            </a>
          )}
          <a class="button button-quiet" href={addressOf("/runs", { tool: name })}>
            Its runs
          </a>
        </div>
        {activity !== null && <Activity activity={activity} />}
        <ToolLimits name={name} />
        {view !== null && (
          <>
            <h3>Input</h3>
            <JsonView value={view.input} label={`Schema of the input of ${name}`} />
            <h3>Output</h3>
            <JsonView value={view.output} label={`Schema of the output of ${name}`} />
          </>
        )}
      </div>
    </Dialog>
  );
}

function Declaration({ view }: { readonly view: NonNullable<KnownTool["view"]> }): VNode {
  const { version, description, effect, risk, guarantee, tags, roles, timeout_ms, tries, can_undo, has_preview } = view;
  return (
    <>
      {description !== "" && (
        <p>
          <SafeText text={description} />
        </p>
      )}
      <dl class="facts">
        <dt>Version</dt>
        <dd>
          <SafeText text={version} />
        </dd>
        <dt>Effect</dt>
        <dd>
          <EffectMark effect={effect} /> {risk} risk
        </dd>
        <dt>Guarantee</dt>
        <dd>{guarantee}</dd>
        <dt>Timeout</dt>
        <dd>{durationText(timeout_ms)}</dd>
        <dt>Attempts</dt>
        <dd>{tries === null ? "as the fault says" : `at most ${tries}`}</dd>
        <dt>Approvers see</dt>
        <dd>{has_preview ? "a preview of the output" : "the input"}</dd>
        {effect === "acts" && (
          <>
            <dt>Undo</dt>
            <dd>{can_undo ? "the tool can undo its acts" : "nothing undoes its acts"}</dd>
          </>
        )}
        {view.external && (
          <>
            <dt>Work</dt>
            <dd>the host of the agent does it</dd>
          </>
        )}
        {tags.length > 0 && (
          <>
            <dt>Tags</dt>
            <dd>
              <SafeText text={tags.join(", ")} />
            </dd>
          </>
        )}
        {roles.length > 0 && (
          <>
            <dt>Callers need</dt>
            <dd>
              the role <SafeText text={roles.join(" or ")} />
            </dd>
          </>
        )}
      </dl>
    </>
  );
}

function Activity({ activity }: { readonly activity: NonNullable<KnownTool["activity"]> }): VNode {
  const { calls, succeeded, failed, doubted, refused, reused, p50_ms, p95_ms, last_at, last_run, spent } = activity;
  const numbers = [
    ["calls", calls],
    ["succeeded", `${succeeded} (${successText(activity)})`],
    ["failed", failed],
    ["in doubt", doubted],
    ["refused", refused],
    ["answered by the record", reused],
    ["median", p50_ms === null ? "–" : durationText(p50_ms)],
    ["95 % end within", p95_ms === null ? "–" : durationText(p95_ms)],
    ...Object.entries(spent).map(([unit, amount]) => ["spent", amountText(unit, amount)]),
  ] as const;
  return (
    <section aria-label="Activity">
      <h3>In the latest runs</h3>
      <dl class="numbers">
        {numbers.map(([title, value], at) => (
          <div key={at}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p class="soft small">
        Last used <RelativeTime at={last_at} /> in <RunLink run_id={last_run} />
      </p>
    </section>
  );
}

/** The budgets and rates that name this tool. */
function ToolLimits({ name }: { readonly name: string }): VNode | null {
  const { value, problem } = useServerValue(`budgets of ${name}`, () => callRoute("budgets", {}));
  const own = (value ?? []).filter(({ tool }) => tool === name);
  if (own.length === 0) return <ProblemNote problem={problem} />;
  return (
    <section aria-label="Limits">
      <h3>Limits</h3>
      <ul>
        {own.map(({ unit, per, limit, used, of }) => (
          <li key={`${of} ${unit} ${per}`}>
            {amountText(unit, used)} of {amountText(unit, limit)} per {per.replace("-", " and ")}
          </li>
        ))}
      </ul>
    </section>
  );
}
