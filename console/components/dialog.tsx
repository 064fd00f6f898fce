import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  /** Called by Escape, and by a press outside of it. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** `side`: a drawer at the edge of the window. */
  readonly place?: "middle" | "side";
}

/** A modal dialog. The browser keeps the focus inside, and gives it back when the dialog closes. */
export function Dialog({ title, onClose, children, place = "middle" }: DialogProps): VNode {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = element;
    const before = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog already
    <dialog
      ref={element}
      class={`dialog dialog-${place}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="button button-quiet" onClick={onClose} aria-label="Close">
            ×
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
