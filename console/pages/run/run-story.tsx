import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { SentencePart } from "../../../src/core/run/event-sentence.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { durationText } from "../../components/relative-time-text.ts";
import { SafeText } from "../../components/safe-text.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { StepLink } from "./step-link.tsx";
import { type StoryLine, shortIds, storyLine } from "./story.ts";
import type { LoadedRun } from "./use-run.ts";

interface RunStoryProps {
  readonly loaded: LoadedRun;
  readonly selected: string | null;
  readonly onStep: (step_id: string) => void;
}

/** The story of the run: one sentence for each event. */
export function RunStory({ loaded, selected, onStep }: RunStoryProps): VNode {
  const { view, version } = loaded;
  const [isWhole, setWhole] = useState(false);
  const [isOfStep, setOfStep] = useState(false);
  const only = isOfStep ? selected : null;
  const lines = useMemo(
    () =>
      view.entries
        .map((entry) => storyLine(view, entry))
        .filter(({ tone, step_id }) => (isWhole || tone !== "quiet") && (only === null || step_id === only)),
    [view, version, isWhole, only],
  );
  return (
    <div class="story">
      <div class="story-options">
        <label>
          <input type="checkbox" checked={isWhole} onChange={(event) => setWhole(event.currentTarget.checked)} /> Every
          event
        </label>
        {selected !== null && (
          <label>
            <input type="checkbox" checked={isOfStep} onChange={(event) => setOfStep(event.currentTarget.checked)} />{" "}
            Only <SafeText text={selected} />
          </label>
        )}
        <span class="soft small">
          {lines.length.toLocaleString("en")} of {view.entries.length.toLocaleString("en")} events
        </span>
      </div>
      <VirtualList
        label="Story of the run"
        class="story-lines"
        count={lines.length}
        rowHeight={32}
        keyOf={(at) => String(lines[at]?.position)}
        row={(at) => <StoryRow line={lines[at] as StoryLine} from={view.run.accepted_at} onStep={onStep} />}
      />
    </div>
  );
}

interface StoryRowProps {
  readonly line: StoryLine;
  readonly from: number;
  readonly onStep: (step_id: string) => void;
}

function StoryRow({ line, from, onStep }: StoryRowProps): VNode {
  const { position, at, tone, step_id, sentence } = line;
  return (
    <div class="story-line">
      <span class="story-time soft" title={new Date(at).toISOString()}>
        +{durationText(at - from)}
      </span>
      <span class={`story-mark story-${tone}`} aria-hidden="true" />
      <span class="story-text">
        {step_id === null ? (
          <b>run</b>
        ) : (
          <StepLink step_id={step_id} onStep={onStep}>
            <SafeText text={step_id} />
          </StepLink>
        )}{" "}
        {sentence.map((part, index) => (
          <SentencePartText key={index} part={part} />
        ))}
      </span>
      <span class="story-position soft" title="Position in the journal">
        {position}
      </span>
    </div>
  );
}

const valueMax = 160;

function SentencePartText({ part }: { readonly part: SentencePart }): VNode {
  if (typeof part === "string") return <SafeText text={shortIds(part)} />;
  if ("at" in part) return <RelativeTime at={part.at} />;
  return (
    <code class="story-value">
      <SafeText text={shortJson(part.value)} />
    </code>
  );
}

/** Returns the beginning of a value as JSON. A long text is cut first, because its JSON would be made whole. */
function shortJson(value: unknown): string {
  const text =
    typeof value === "string" && value.length > valueMax
      ? JSON.stringify(value.slice(0, valueMax))
      : JSON.stringify(value, (_, each: unknown) =>
          typeof each === "string" && each.length > valueMax ? `${each.slice(0, valueMax)}…` : each,
        );
  return text.length <= valueMax ? text : `${text.slice(0, valueMax)}…`;
}
