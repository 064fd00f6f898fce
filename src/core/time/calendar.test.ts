import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instant } from "../id.ts";
import { type Appointment, Calendar } from "./calendar.ts";

function inOrder(calendar: Calendar): readonly Appointment[] {
  const found: Appointment[] = [];
  for (let left = calendar; left.first !== null; left = left.withoutFirst()) found.push(left.first);
  return found;
}

const filled = (moments: readonly number[]) =>
  moments.reduce((calendar, at, index) => calendar.with(at as Instant, index), Calendar.empty);

describe("a calendar", () => {
  it("has nothing first while it is empty, and stays so", () => {
    expect(Calendar.empty.first).toBeNull();
    expect(Calendar.empty.withoutFirst().first).toBeNull();
  });

  it("gives back everything that was put into it, the earliest first", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), (moments) => {
        const found = inOrder(filled(moments));
        expect(found.map(({ at }) => at)).toEqual([...moments].sort((left, right) => left - right));
        expect(found.map(({ index }) => index).sort((left, right) => left - right)).toEqual([...moments.keys()]);
        for (const { at, index } of found) expect(moments[index]).toBe(at);
      }),
    );
  });

  it("is left as it was by what is added to it or taken out of it", () => {
    const one = filled([5, 3, 9]);
    const before = inOrder(one);
    one.with(1 as Instant, 7);
    one.withoutFirst();
    expect(inOrder(one)).toEqual(before);
  });

  it.each([
    ["in order", (at: number) => at],
    ["in reverse", (at: number) => -at],
    ["all at once", () => 0],
  ])("is merged along short ways, though thirty thousand come %s", (_, moment) => {
    // A way down that is as long as the list would end on the stack.
    const calendar = filled(Array.from({ length: 30_000 }, (__, at) => moment(at)));
    expect(inOrder(calendar)).toHaveLength(30_000);
  });
});
