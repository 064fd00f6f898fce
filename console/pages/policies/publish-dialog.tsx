import type { VNode } from "preact";
import type { JsonObject } from "../../../src/core/values/json.ts";
import type { PolicyVersion } from "../../../src/engine/api/policy-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { DiffView } from "../../components/diff-view.tsx";
import { isSamePlace, placeOf, policyText, storedVersion } from "./policy-draft.ts";

interface PublishProps {
  readonly document: JsonObject;
  /** The version that was read before the change. Null: a new policy. */
  readonly read: PolicyVersion | null;
  readonly onClose: () => void;
  readonly onPublished: (version: PolicyVersion) => Promise<void>;
}

/** Shows the difference, and stores the policy only in the place of the version that was read. */
export function PublishDialog({ document, read, onClose, onPublished }: PublishProps): VNode {
  const place = placeOf(document);
  const replaced = read !== null && isSamePlace(read, place) ? read : null;
  return (
    <ActionDialog
      title={replaced === null ? "Publish a new policy" : "Publish the change"}
      action="Publish"
      reason="optional"
      onClose={onClose}
      onAct={async (reason) => {
        const ifVersion = replaced?.version ?? 0;
        await callRoute("policies.set", { document, ifVersion, ...(reason !== "" && { reason }) });
        const version = await storedVersion(place);
        if (version !== null) await onPublished(version);
      }}
    >
      <p class="soft">
        The rules judge every call that starts from now on. If another person has published meanwhile, nothing is
        stored.
      </p>
      {read !== null && replaced === null && (
        <p class="note note-hold">
          The name or the scope has changed, so this is another policy. The one that you read stays.
        </p>
      )}
      <DiffView
        before={replaced === null ? null : policyText(replaced.document)}
        after={policyText(document)}
        label="Changes of the policy"
      />
    </ActionDialog>
  );
}
