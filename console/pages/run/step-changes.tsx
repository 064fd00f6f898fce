import type { VNode } from "preact";
import type { PatchOperation } from "../../../src/core/state/patch.ts";
import type { Json } from "../../../src/core/values/json.ts";
import { callRoute } from "../../api/call-route.ts";
import { DiffView } from "../../components/diff-view.tsx";
import { JsonView } from "../../components/json-view.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import type { PublishedChange } from "./step-history.ts";
import { StepPart, type StepPartProps } from "./step-part.tsx";

/** The changes of the step in the state and in files. */
export function StepChanges({ loaded, step, history }: StepPartProps): VNode | null {
  const change = history.changes.at(-1);
  if (change === undefined) return null;
  const files = change.files.reduce((sum, { changed }) => sum + changed, 0);
  return (
    <StepPart title="Changes" count={(change.state?.patch.length ?? 0) + files}>
      {() => <ChangeParts run_id={loaded.view.run_id} step_id={step.spec.step_id} change={change} />}
    </StepPart>
  );
}

interface ChangePartsProps {
  readonly run_id: string;
  readonly step_id: string;
  readonly change: PublishedChange;
}

function ChangeParts({ run_id, step_id, change }: ChangePartsProps): VNode {
  const difference = useServerValue(`${run_id} ${step_id} ${change.position}`, () =>
    callRoute("checkpoints.diff", {
      from: { runId: run_id, stepId: step_id, side: "before" },
      to: { runId: run_id, stepId: step_id, side: "after" },
    }),
  );
  const { value, problem } = difference;
  return (
    <>
      {change.state !== null && (
        <p class="small soft">
          State of <SafeText text={change.state.project} />, version {change.state.version}
        </p>
      )}
      {value?.state.map(({ path, before, after }) => (
        <StateDifferencePart key={path} path={path} before={before} after={after} />
      ))}
      {value === null && change.state?.patch.map((each, at) => <PatchLine key={at} change={each} />)}
      {problem !== null && change.state !== null && (
        <p class="small soft">
          The whole difference cannot be read any more: <SafeText text={problem.message} />
        </p>
      )}
      <FileChanges change={change} files={value?.files ?? {}} />
    </>
  );
}

interface StateDifferenceProps {
  readonly path: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

function StateDifferencePart({ path, before, after }: StateDifferenceProps): VNode {
  const what = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return (
    <div class="stack-small">
      <p>
        <code>
          <SafeText text={path} />
        </code>{" "}
        <span class="soft">{what}</span>
      </p>
      <DiffView label={`Difference at ${path}`} before={shownText(before)} after={shownText(after)} />
    </div>
  );
}

/** Returns a value as the text that is compared: a text as it is, so that its lines are compared. */
function shownText(value: Json | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function PatchLine({ change }: { readonly change: PatchOperation }): VNode {
  return (
    <div class="stack-small">
      <p>
        {change.op}{" "}
        <code>
          <SafeText text={change.path} />
        </code>
      </p>
      {"value" in change && <JsonView value={change.value as Json} label={change.path} foldFrom={2} />}
    </div>
  );
}

interface FileChangesProps {
  readonly change: PublishedChange;
  readonly files: Awaited<ReturnType<typeof callRoute<"checkpoints.diff">>>["files"];
}

const signs = { added: "+", removed: "−", changed: "~" } as const;

/** The changed paths: with their sizes, if the resource still has them, else as the journal recorded them. */
function FileChanges({ change, files }: FileChangesProps): VNode | null {
  const known = Object.entries(files);
  const recorded = change.files.flatMap(({ changes }) => changes);
  if (known.length === 0 && recorded.length === 0) return null;
  const hidden = change.files.reduce((sum, { changed }) => sum + changed, 0) - recorded.length;
  return (
    <ul class="files" aria-label="Changed files">
      {known.length > 0
        ? known.flatMap(([resource, list]) =>
            list.map(({ path, change: what, bytes }) => (
              <li key={`${resource} ${path}`} class={`file file-${what}`}>
                <span aria-hidden="true">{signs[what]}</span>{" "}
                <code>
                  <SafeText text={path} />
                </code>{" "}
                <span class="soft small">
                  {what}, {sizeText(bytes.before)} → {sizeText(bytes.after)}
                </span>
              </li>
            )),
          )
        : recorded.map(({ path, change: what }) => (
            <li key={path} class={`file file-${what}`}>
              <span aria-hidden="true">{signs[what]}</span>{" "}
              <code>
                <SafeText text={path} />
              </code>{" "}
              <span class="soft small">{what}</span>
            </li>
          ))}
      {known.length === 0 && hidden > 0 && <li class="soft small">and {hidden} more paths</li>}
    </ul>
  );
}

function sizeText(bytes: number | null): string {
  return bytes === null ? "no file" : `${bytes.toLocaleString("en")} bytes`;
}
