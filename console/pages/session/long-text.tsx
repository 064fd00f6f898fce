import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { SafeText } from "../../components/safe-text.tsx";

const shownMax = 2000;

/** A text of a conversation. Its lines are kept; the rest of a long one is shown when the reader asks for it. */
export function LongText({ text }: { readonly text: string }): VNode {
  const [shown, setShown] = useState(shownMax);
  return (
    <div class="long-text">
      <SafeText text={text.slice(0, shown)} />
      {text.length > shown && (
        <button type="button" class="json-fold" onClick={() => setShown(shown * 10)}>
          {(text.length - shown).toLocaleString("en")} more characters
        </button>
      )}
    </div>
  );
}
