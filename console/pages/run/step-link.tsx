import type { ComponentChildren, VNode } from "preact";
import { placeQuery, readPlace } from "./page-place.ts";

interface StepLinkProps {
  readonly step_id: string;
  readonly onStep: (step_id: string) => void;
  readonly class?: string;
  readonly isSelected?: boolean;
  readonly children: ComponentChildren;
}

/** A link to a step of the run on this page. It opens the step beside the view; in a new tab it opens the page. */
export function StepLink({ step_id, onStep, isSelected = false, children, ...rest }: StepLinkProps): VNode {
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0) return;
    event.preventDefault();
    // The router follows links by a listener at the window.
    event.stopPropagation();
    onStep(step_id);
  };
  return (
    <a
      href={location.pathname + placeQuery({ ...readPlace(location.search), step: step_id })}
      onClick={open}
      class={rest.class}
      aria-current={isSelected ? "true" : undefined}
    >
      {children}
    </a>
  );
}
