import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { JsonObject } from "../../../src/core/values/json.ts";
import type { PolicyVersion } from "../../../src/engine/api/policy-api.ts";
import { hasScope, session } from "../../api/browser-login.ts";
import { callRoute } from "../../api/call-route.ts";
import { useUrlQuery } from "../../app/url-query.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { JsonField } from "../../components/json-field.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { StatusPill } from "../../components/status-pill.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { useServerValue } from "../../live/use-server-value.ts";
import {
  newPolicy,
  type PolicyDraft,
  type PolicyPlace,
  placeFields,
  placeOf,
  policyText,
  storedVersion,
  usePolicyDraft,
} from "./policy-draft.ts";
import { PolicyHistory } from "./policy-history.tsx";
import { PolicyTestBench } from "./policy-test-bench.tsx";
import { PublishDialog } from "./publish-dialog.tsx";

interface EditorProps {
  /** Null: a new policy. */
  readonly place: PolicyPlace | null;
  readonly onStored: () => Promise<void>;
}

/** Loads the stored version of a policy, then edits it. */
export function PolicyEditor({ place, onStored }: EditorProps): VNode {
  const stored = useServerValue(place === null ? null : JSON.stringify(place), () =>
    storedVersion(place as PolicyPlace),
  );
  if (stored.problem !== null) return <ProblemNote problem={stored.problem} onRetry={stored.reload} />;
  if (stored.isLoading) return <div aria-busy="true" />;
  if (place !== null && stored.value === null)
    return <p class="note note-hold">There is no such policy: it was removed, or never stored.</p>;
  return (
    <LoadedEditor
      base={stored.value}
      onStored={async () => {
        await Promise.all([stored.reload(), onStored()]);
      }}
    />
  );
}

interface LoadedProps {
  /** The version that the person read. Null: a new policy. */
  readonly base: PolicyVersion | null;
  readonly onStored: () => Promise<void>;
}

type EditorTab = "document" | "test" | "history";

function LoadedEditor({ base, onStored }: LoadedProps): VNode {
  const { change } = useUrlQuery();
  // The version that the person read stays the base of the draft, also if the policy is changed meanwhile.
  const [read, setRead] = useState(base);
  const published = read === null ? "" : policyText(read.document);
  const draft = usePolicyDraft(published || policyText(newPolicy(tenantOfSession())));
  const [asked, setAsked] = useState<"publish" | "remove" | null>(null);
  const newer = base !== null && read !== null && base.version !== read.version ? base : null;
  const take = (version: PolicyVersion) => {
    setRead(version);
    draft.setText(policyText(version.document));
  };
  const close = () => setAsked(null);
  return (
    <section class="panel policy-editor" aria-label="Policy">
      <EditorHead read={read} draft={draft} isChanged={draft.text !== published} onAsk={setAsked} />
      <div class="panel-body stack">
        {newer !== null && <NewerNote newer={newer} onTake={() => take(newer)} />}
        <EditorTabs read={read} draft={draft} />
      </div>
      {asked === "publish" && draft.document !== null && (
        <PublishDialog
          document={draft.document as JsonObject}
          read={read}
          onClose={close}
          onPublished={async (version) => {
            take(version);
            await onStored();
            const { name, project, session: of } = version;
            change({ name, project, session: of, new: null });
          }}
        />
      )}
      {asked === "remove" && read !== null && (
        <RemoveDialog
          read={read}
          onClose={close}
          onRemoved={async () => {
            change({ name: null, project: null, session: null, tab: null });
            await onStored();
          }}
        />
      )}
    </section>
  );
}

function tenantOfSession(): string {
  const { value } = session;
  return value.is === "in" || value.is === "expired" ? value.principal.tenant : "";
}

interface EditorHeadProps {
  readonly read: PolicyVersion | null;
  readonly draft: PolicyDraft;
  readonly isChanged: boolean;
  readonly onAsk: (what: "publish" | "remove") => void;
}

function EditorHead({ read, draft, isChanged, onAsk }: EditorHeadProps): VNode {
  const canPublish = draft.document !== null && !draft.isChecking && draft.problems.length === 0 && isChanged;
  const isAdmin = hasScope("admin");
  return (
    <div class="panel-head">
      <span>
        <h2 class="policy-name">
          <SafeText text={read?.name ?? "New policy"} />
        </h2>
        {read !== null && (
          <span class="soft small">
            version {read.version}, <RelativeTime at={read.at} /> by <SafeText text={read.by} />
          </span>
        )}
      </span>
      <span class="row-actions">
        {isChanged && <StatusPill status="not published" tone="hold" />}
        {read !== null && (
          <button type="button" class="button button-danger" disabled={!isAdmin} onClick={() => onAsk("remove")}>
            Remove…
          </button>
        )}
        <button type="button" class="button" disabled={!canPublish || !isAdmin} onClick={() => onAsk("publish")}>
          Publish…
        </button>
      </span>
    </div>
  );
}

function EditorTabs({ read, draft }: Pick<EditorHeadProps, "read" | "draft">): VNode {
  const { query, change } = useUrlQuery();
  const tab: EditorTab = query.tab === "test" || query.tab === "history" ? query.tab : "document";
  return (
    <>
      <Tabs
        label="Parts of the editor"
        selected={tab}
        onSelect={(id) => change({ tab: id })}
        tabs={[
          { id: "document", title: "Rules" },
          { id: "test", title: "Test bench" },
          ...(read === null ? [] : [{ id: "history" as const, title: "History" }]),
        ]}
      />
      {tab === "document" && (
        <>
          <JsonField label="Policy" text={draft.text} rows={22} onText={draft.setText} problems={draft.problems} />
          <p class="small" aria-live="polite">
            <CheckText draft={draft} />
          </p>
        </>
      )}
      {tab === "test" && <PolicyTestBench draft={draft} />}
      {tab === "history" && read !== null && (
        <PolicyHistory place={placeOf(read.document as JsonObject)} onTake={(text) => draft.setText(text)} />
      )}
    </>
  );
}

function NewerNote({ newer, onTake }: { readonly newer: PolicyVersion; readonly onTake: () => void }): VNode {
  return (
    <div class="note note-hold">
      <p>
        <SafeText text={newer.by} /> has published version {newer.version} meanwhile.
      </p>
      <button type="button" class="button button-quiet" onClick={onTake}>
        Show it and drop my changes
      </button>
    </div>
  );
}

interface RemoveDialogProps {
  readonly read: PolicyVersion;
  readonly onClose: () => void;
  readonly onRemoved: () => Promise<void>;
}

function RemoveDialog({ read, onClose, onRemoved }: RemoveDialogProps): VNode {
  return (
    <ActionDialog
      title="Remove the policy"
      action="Remove"
      isDangerous
      reason="optional"
      onClose={onClose}
      onAct={async (reason) => {
        await callRoute("policies.remove", { ...placeFields(read), ...(reason !== "" && { reason }) });
        await onRemoved();
      }}
    >
      <p>
        <SafeText text={read.name} />
      </p>
      <p class="soft">Its rules no longer judge any call. The history keeps its document.</p>
    </ActionDialog>
  );
}

function CheckText({ draft }: { readonly draft: PolicyDraft }): VNode {
  if (draft.document === null) return <span class="soft">The server checks the policy as soon as it is JSON.</span>;
  if (draft.isChecking) return <span class="soft">Checking…</span>;
  return draft.problems.length === 0 ? <span class="policy-valid">The policy is valid.</span> : <span />;
}
