import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ProjectVersion } from "../../../src/engine/api/project-api.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";

interface VersionListProps {
  readonly versions: readonly ProjectVersion[];
  readonly selected: number;
  readonly onSelect: (version: number) => void;
  /** Null: these are all versions. */
  readonly onMore: (() => void) | null;
}

/** The versions of a project, newest first. */
export function VersionList({ versions, selected, onSelect, onMore }: VersionListProps): VNode {
  const [number, setNumber] = useState("");
  return (
    <section class="panel version-list" aria-label="Versions">
      <form
        class="panel-head version-go"
        onSubmit={(event) => {
          event.preventDefault();
          if (number !== "") onSelect(Number(number));
        }}
      >
        <h2>Versions</h2>
        <label class="field">
          <span class="unseen">Go to version</span>
          <input
            type="number"
            min={0}
            max={versions[0]?.version}
            placeholder="Go to…"
            value={number}
            onInput={({ currentTarget }) => setNumber(currentTarget.value)}
          />
        </label>
      </form>
      <ul>
        {versions.map((each) => (
          <li key={each.version}>
            <button
              type="button"
              class="version-row"
              aria-current={each.version === selected ? "true" : undefined}
              onClick={() => onSelect(each.version)}
            >
              <span class="version-number">{each.version}</span>
              <span class="version-what">
                <SafeText text={each.tool ?? (each.type === "state.restored" ? "restored" : each.type)} />
                <span class="soft small">
                  <SafeText text={each.by} /> · {each.patch.length} {each.patch.length === 1 ? "change" : "changes"}
                </span>
              </span>
              <span class="soft small">
                <RelativeTime at={each.at} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      {onMore !== null && (
        <button type="button" class="side-action version-more" onClick={onMore}>
          Older versions
        </button>
      )}
    </section>
  );
}
