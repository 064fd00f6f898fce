import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { Dialog } from "../components/dialog.tsx";
import { keyBindings } from "./key-bindings.ts";

export const isKeyboardHelpOpen = signal(false);

/** The keys that the page answers. */
export function KeyboardHelp(): VNode | null {
  if (!isKeyboardHelpOpen.value) return null;
  return (
    <Dialog title="Keyboard" onClose={() => (isKeyboardHelpOpen.value = false)}>
      <dl class="keys">
        {keyBindings.value.flat().map(({ key, does }) => (
          <div key={`${key} ${does}`}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
