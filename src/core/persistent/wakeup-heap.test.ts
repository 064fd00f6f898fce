import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instant } from "../values/ids.ts";
import { type Wakeup, WakeupHeap } from "./wakeup-heap.ts";

function inOrder(heap: WakeupHeap): readonly Wakeup[] {
  const found: Wakeup[] = [];
  for (let rest = heap; rest.first !== null; rest = rest.withoutFirst()) found.push(rest.first);
  return found;
}

const filled = (times: readonly number[]) =>
  times.reduce((heap, at, index) => heap.add(at as Instant, index), WakeupHeap.empty);

describe("a wakeup heap", () => {
  it("has no first item while it is empty", () => {
    expect(WakeupHeap.empty.first).toBeNull();
    expect(WakeupHeap.empty.withoutFirst().first).toBeNull();
  });

  it("returns every added item, the earliest first", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), (times) => {
        const found = inOrder(filled(times));
        expect(found.map(({ at }) => at)).toEqual([...times].sort((left, right) => left - right));
        expect(found.map(({ index }) => index).sort((left, right) => left - right)).toEqual([...times.keys()]);
        for (const { at, index } of found) expect(times[index]).toBe(at);
      }),
    );
  });

  it("does not change when a new version adds or removes an item", () => {
    const one = filled([5, 3, 9]);
    const before = inOrder(one);
    one.add(1 as Instant, 7);
    one.withoutFirst();
    expect(inOrder(one)).toEqual(before);
  });

  it.each([
    ["in order", (at: number) => at],
    ["in reverse", (at: number) => -at],
    ["all at once", () => 0],
  ])("merges along short paths when thirty thousand items come %s", (_, timeOf) => {
    // A path as long as the list would overflow the stack.
    const heap = filled(Array.from({ length: 30_000 }, (__, at) => timeOf(at)));
    expect(inOrder(heap)).toHaveLength(30_000);
  });
});
