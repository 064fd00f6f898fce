import type { VNode } from "preact";
import { useState } from "preact/hooks";

const shownMs = 1500;

/** Copies a text. It is computed when the button is pressed. */
export function CopyButton({ text, label }: { readonly text: () => string; readonly label: string }): VNode {
  const [state, setState] = useState<"ready" | "copied" | "refused">("ready");
  const copy = async () => {
    const copied = await navigator.clipboard?.writeText(text()).then(
      () => true,
      () => false,
    );
    setState(copied === true ? "copied" : "refused");
    setTimeout(() => setState("ready"), shownMs);
  };
  const words = { ready: "Copy", copied: "Copied", refused: "Not allowed" } as const;
  return (
    <button type="button" class="copy" aria-label={label} onClick={() => void copy()}>
      <span aria-live="polite">{words[state]}</span>
    </button>
  );
}
