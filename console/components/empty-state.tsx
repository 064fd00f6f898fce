import type { ComponentChildren, VNode } from "preact";

/** A list without rows: says what would be here, and how it gets there. */
export function EmptyState({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="soft">{children}</div>}
    </div>
  );
}
