import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type PartialKeys,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";

interface VirtualListProps {
  readonly label: string;
  readonly count: number;
  /** The height of a row in pixels, before it is measured. */
  readonly rowHeight: number;
  /** Every row has this height, so that none is measured. */
  readonly hasEqualRows?: true;
  readonly row: (index: number) => ComponentChildren;
  readonly keyOf: (index: number) => string;
  /** The row to keep in view. */
  readonly selected?: number;
  /** Called when the end comes into view: the page reads more rows. */
  readonly onEnd?: () => void;
  readonly class?: string;
}

type Options = VirtualizerOptions<HTMLDivElement, HTMLLIElement>;

/** A list with any number of rows: only those in view are in the page. Its own box scrolls. */
export function VirtualList(props: VirtualListProps): VNode {
  const { label, count, row, hasEqualRows, selected, onEnd } = props;
  const frame = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer(props, () => frame.current);
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  const made = useMemo(() => new Map<number, ComponentChildren>(), [row]);
  useEffect(() => {
    if (count > 0 && last >= count - 1) onEnd?.();
  }, [last, count, onEnd]);
  useEffect(() => {
    if (selected !== undefined && selected >= 0) virtualizer.scrollToIndex(selected, { align: "auto" });
  }, [selected, virtualizer]);
  return (
    <div class={`virtual ${props.class ?? ""}`} ref={frame}>
      <ul class="virtual-space" aria-label={label} style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {items.map(({ index, key, start }) => (
          <li
            key={key}
            class="virtual-row"
            aria-setsize={count}
            aria-posinset={index + 1}
            data-index={index}
            ref={hasEqualRows ? null : virtualizer.measureElement}
            style={{ transform: `translateY(${start}px)` }}
          >
            {madeOnce(made, index, row)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Returns a row that was made before: while the list only scrolls, a row that stays in view is not rendered again. */
function madeOnce(
  made: Map<number, ComponentChildren>,
  index: number,
  row: (index: number) => ComponentChildren,
): ComponentChildren {
  const known = made.get(index);
  if (known !== undefined) return known;
  const fresh = row(index);
  made.set(index, fresh);
  return fresh;
}

function useVirtualizer(
  { count, rowHeight, keyOf }: VirtualListProps,
  frame: () => HTMLDivElement | null,
): Virtualizer<HTMLDivElement, HTMLLIElement> {
  const [, rerender] = useReducer((turn: number) => turn + 1, 0);
  const options: PartialKeys<Options, "observeElementRect" | "observeElementOffset" | "scrollToFn"> = {
    count,
    getScrollElement: frame,
    estimateSize: () => rowHeight,
    getItemKey: keyOf,
    overscan: 8,
    onChange: () => rerender(undefined),
  };
  const whole: Options = { observeElementRect, observeElementOffset, scrollToFn: elementScroll, ...options };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLLIElement>(whole));
  virtualizer.setOptions(whole);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
