import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Json, sameJson } from "../values/json.ts";
import {
  boundPayloadKeys,
  isTemplate,
  placeholderSource,
  renderTemplate,
  templateLookup,
  templatePlaceholders,
} from "./idempotency-template.ts";

const from = (values: Record<string, Json>) => (name: string) => values[name];

describe("a template", () => {
  it("names its placeholders once, in order", () => {
    expect(templatePlaceholders("mail:{to}:{id}:{to}")).toEqual(["to", "id"]);
    expect(templatePlaceholders("no placeholder")).toEqual([]);
  });

  it.each(["{", "}", "{}", "{a b}", "{1a}", "{a", "a}", "{{a}}", "{a.b}", "{é}"])("is not %s", (text) => {
    expect(isTemplate(text)).toBe(false);
    expect(() => templatePlaceholders(text)).toThrow("was checked before");
  });

  it.each(["", "plain", "{a}", "a:{b_1}:{C}", "{_a}{_a}", "line\nbreak"])("may be %j", (text) => {
    expect(isTemplate(text)).toBe(true);
  });
});

describe("rendering a template", () => {
  it("marks where a value ends, so that a:b and c differ from a and b:c", () => {
    const one = renderTemplate("{x}:{y}", from({ x: "a:b", y: "c" }));
    const other = renderTemplate("{x}:{y}", from({ x: "a", y: "b:c" }));
    expect(one).toEqual({ ok: true, text: '{"a:b"}:{"c"}' });
    expect(other).toEqual({ ok: true, text: '{"a"}:{"b:c"}' });
  });

  it("never gives one text for two sets of values", () => {
    const values = fc.oneof(
      fc.constantFrom("", "}", "{", '"', '"}:{"', 1, "1", true, "true"),
      fc.string(),
      fc.jsonValue(),
    );
    const pairs = fc.tuple(values, values) as fc.Arbitrary<[Json, Json]>;
    fc.assert(
      fc.property(fc.constantFrom("{x}{y}", "{x}:{y}", "a{y}b{x}c"), pairs, pairs, (template, [x, y], [p, q]) => {
        fc.pre([x, y, p, q].every((value) => value !== null));
        const [one, other] = [renderTemplate(template, from({ x, y })), renderTemplate(template, from({ x: p, y: q }))];
        expect(sameJson(one, other)).toBe(sameJson(x, p) && sameJson(y, q));
      }),
    );
  });

  it("keeps a dollar sign unchanged", () => {
    expect(renderTemplate("{x}", from({ x: "$&$1" }))).toEqual({ ok: true, text: '{"$&$1"}' });
  });

  it("reports every missing or null value", () => {
    expect(renderTemplate("{a}:{b}:{c}", from({ a: null, c: 0 }))).toEqual({ ok: false, missing: ["a", "b"] });
  });
});

describe("the sources of a placeholder", () => {
  const binding = { step: "s1", path: "", as: "value" };
  const bound = boundPayloadKeys({ "/digest": binding, "/deep/er": binding, "": binding, "not a pointer": binding });
  const sources = {
    payload: { id: 1, digest: null, gone: null },
    bound,
    context: { id: 2, gone: 3, hash: "h", no: null },
  };

  it.each([
    ["digest", "binding"],
    ["deep", "binding"],
    ["id", "payload"],
    ["hash", "context"],
    ["gone", null],
    ["no", null],
    ["toString", null],
  ])("%s comes from %s", (name, source) => {
    expect(placeholderSource(name, sources)).toBe(source);
  });

  it("are read in the same order after the bindings are resolved", () => {
    const lookup = templateLookup({ id: 1, gone: null }, { id: 2, gone: 3, hash: "h" });
    expect(["id", "gone", "hash", "toString"].map(lookup)).toEqual([1, null, "h", undefined]);
  });
});
