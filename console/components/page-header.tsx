import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** The title of a page, which also names its tab, its state beside it, and its actions. */
export function PageHeader({
  title,
  beside,
  actions,
  children,
  level = 1,
}: {
  readonly title: ComponentChildren;
  readonly beside?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Facts below the title. */
  readonly children?: ComponentChildren;
  /** 2: the header of a part of a page that has a title of its own. */
  readonly level?: 1 | 2;
}): VNode {
  const Heading = level === 1 ? "h1" : "h2";
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (level === 1) document.title = `${heading.current?.textContent ?? ""} · Writ`;
  });
  return (
    <header class="page-header">
      <div class="page-title">
        <Heading ref={heading} class="page-heading" tabIndex={-1}>
          {title}
        </Heading>
        {beside}
      </div>
      {actions !== undefined && <div class="actions">{actions}</div>}
      {children !== undefined && <div class="page-facts soft">{children}</div>}
    </header>
  );
}
