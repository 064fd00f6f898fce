import type { VNode } from "preact";

interface TabsProps<Id extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly id: Id; readonly title: string; readonly count?: number }[];
  readonly selected: Id;
  readonly onSelect: (id: Id) => void;
}

/** Tabs. The arrow keys move between them; the page shows the panel of the selected one. */
export function Tabs<Id extends string>({ label, tabs, selected, onSelect }: TabsProps<Id>): VNode {
  const move = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === selected);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    onSelect(next.id);
    const list = event.currentTarget as HTMLElement;
    list.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ id, title, count }) => (
        <button
          key={id}
          type="button"
          role="tab"
          data-tab={id}
          aria-selected={id === selected}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {title}
          {count !== undefined && <span class="count">{count}</span>}
        </button>
      ))}
    </div>
  );
}
