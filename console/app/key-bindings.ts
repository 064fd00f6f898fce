import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** A key that a page answers, and what it does. */
export interface KeyBinding {
  /** As `KeyboardEvent.key` names it. */
  readonly key: string;
  readonly does: string;
  run(event: KeyboardEvent): void;
}

/** The bindings in force, by page: the help lists them. */
export const keyBindings = signal<readonly (readonly KeyBinding[])[]>([]);

/** Answers keys while the component is shown. Keys that are typed into a field are left alone. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const names = bindings.map(({ key, does }) => `${key} ${does}`).join();
  useEffect(() => {
    const listed = latest.current;
    keyBindings.value = [...keyBindings.peek(), listed];
    return () => {
      keyBindings.value = keyBindings.peek().filter((each) => each !== listed);
    };
  }, [names]);
  useEffect(() => {
    const answer = (event: KeyboardEvent) => {
      if (isTyped(event)) return;
      const binding = latest.current.find(({ key }) => key === event.key);
      if (binding === undefined) return;
      event.preventDefault();
      binding.run(event);
    };
    document.addEventListener("keydown", answer);
    return () => document.removeEventListener("keydown", answer);
  }, []);
}

/** True for keys that belong to a field, a dialog, a control or the browser. */
function isTyped(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true;
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"))
    return true;
  if (event.key === "Enter" && target.matches("a, button, summary")) return true;
  return document.querySelector("dialog[open]") !== null;
}
