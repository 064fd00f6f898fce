import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/core/event/event.ts";
import { seededRandom } from "../../src/core/persistent/seeded-random.ts";
import { Draft } from "../../src/core/state/draft.ts";
import { applyPatch, EMPTY_STATE, type ProjectState } from "../../src/core/state/project-state.ts";
import type { MapDraft } from "../../src/core/state/slice.ts";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import { isName } from "../../src/core/values/is-name.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/core/values/json.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectJournal, scriptedTool } from "./scripted-tool.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: {} });
const slices = [beds];
const seed = "a seed";

/** Names that a path, a prototype or a parser could take for something else. */
const names = ["a", "a.b", "a/b", "~1", "~", "", "__proto__", "constructor", "0", "-", "é", " ", "a/b/c.d~0"];
const name = fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 6, unit: "grapheme" }));
/** A plan refuses the name `__proto__`, and JSON has one zero. */
const member = name.filter((one) => one !== "__proto__");
const anyProject = name.map((one) => `p${one}`).filter(isName);
const value = fc
  .oneof(fc.dictionary(member, fc.jsonValue(), { maxKeys: 3 }), fc.jsonValue())
  .filter((one) => !JSON.stringify(one).includes("__proto__"))
  .map((one): Json => JSON.parse(JSON.stringify(one)));

describe.each(storeKinds)("replay of state, on $name", ({ newFixture: newStage }) => {
  /** A handler that depends only on its input, the state, and the time and random numbers of its attempt. */
  const tend = (input: JsonObject, { slice, now, random }: Pick<ToolContext, "slice" | "now" | "random">): void => {
    const all = slice(beds);
    const [from, to] = [String(input.from), String(input.to)];
    const found = all.get(from) ?? null;
    all.set(to, { found, now, chance: random(), many: all.size });
    if (input.clears === true) all.delete(from);
  };

  it("gives the same outcome when a handler gets its recorded input again, for any order of calls", async () => {
    const call = fc.record({
      from: fc.constantFrom("a", "a/b", "c"),
      to: fc.constantFrom("a", "c"),
      clears: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(call, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 3 }),
        async (plans) => {
          const stage = newStage();
          const tool = scriptedTool("tend", ({ input, context }) => tend(input, context) ?? { ok: true }, {
            effect: "writes",
          });
          const engine = await stage.open({ tools: [tool.tool], slices, seed });
          const runs = await Promise.all(
            plans.map((calls) => {
              const steps = calls.map((payload, n) => ({ step_id: `s${n}`, name: "tend", payload }));
              return engine.submit({ steps }, { principal: botAgent, project: "garden" });
            }),
          );
          const told: { readonly event: Succeeded; readonly run: string; readonly payload: JsonObject }[] = [];
          for (const [at, run] of runs.entries()) {
            expect((await stage.runUntilIdle(run)).status).toBe("completed");
            for (const event of await collectJournal(run))
              if (event.type === "step.succeeded")
                told.push({
                  event,
                  run: run.run_id,
                  payload: plans[at]?.[Number(event.step_id.slice(1))] as JsonObject,
                });
          }
          told.sort((one, two) => (one.event.state?.version ?? 0) - (two.event.state?.version ?? 0));
          const states: ProjectState[] = [EMPTY_STATE];
          for (const { event } of told)
            states.push(applyPatch(states.at(-1) as ProjectState, event.state?.patch ?? []));
          for (const { event, run, payload } of told) {
            const draft = new Draft(states[event.base ?? -1] as ProjectState, { slices, session: "", writes: true });
            const random = seededRandom(`${seed}${run}/${event.step_id}/${event.attempt}`);
            tend(payload, { slice: (slice) => draft.slice(slice) as never, now: event.started_at, random });
            expect(draft.patch).toEqual(event.state?.patch);
          }
          await engine.close();
        },
      ),
      { numRuns: 12 },
    );
  });

  it("reproduces every version after a crash and a restore, for any names", async () => {
    const deed = fc.oneof(
      fc.record({ op: fc.constant("set"), key: name, value }),
      fc.record({ op: fc.constant("inside"), key: name, place: member, value }),
      fc.record({ op: fc.constant("delete"), key: name }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 1, maxLength: 9 }),
        fc.nat(),
        anyProject,
        async (deeds, back, project) => {
          const stage = newStage();
          const work = scriptedTool(
            "work",
            ({ input, context }) => done(context.slice(beds), input as unknown as Deed),
            {
              effect: "writes",
            },
          );
          const options = { tools: [work.tool], slices, limits: { snapshotVersions: 3 } };
          const at = { principal: botAgent, project };
          const engine = await stage.open(options);
          const model: (readonly (readonly [string, Json])[])[] = [[]];
          const runs: string[] = [];
          for (const one of deeds) {
            const plan = { steps: [{ step_id: "a", name: "work", payload: one }] };
            const run = await engine.submit(plan, at);
            await run.result();
            const { version } = await engine.state(at);
            if (version === model.length) {
              model.push(after(model.at(-1) ?? [], one as unknown as Deed));
              runs.push(run.run_id);
            }
          }
          await stage.crash();
          const cold = await stage.open(options);
          for (const [version, entries] of model.entries())
            expect((await cold.state({ ...at, version })).slice(beds).all()).toEqual(entries);
          if (runs.length === 0) return;
          const to = back % runs.length;
          await cold.checkpoints.restore(
            { runId: runs[to] ?? "", stepId: "a", side: "after" },
            { principal: anaPerson },
          );
          expect((await cold.state(at)).slice(beds).all()).toEqual(model[to + 1]);
          expect(await cold.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
          await stage.crash();
        },
      ),
      { numRuns: 8 },
    );
  });
});

type Succeeded = Extract<Event, { type: "step.succeeded" }>;

interface Deed {
  readonly op: "set" | "inside" | "delete";
  readonly key: string;
  readonly place: string;
  readonly value: Json;
}

const escaped = (token: string) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`;

function done(all: MapDraft<Json>, { op, key, place, value }: Deed): Json {
  if (op === "set") all.set(key, value);
  else if (op === "delete") all.delete(key);
  else if (isJsonObject(all.get(key))) all.setAt(key, escaped(place), value);
  return { ok: true };
}

/** The same, by a map and nothing else. */
function after(before: readonly (readonly [string, Json])[], { op, key, place, value }: Deed) {
  const entries = new Map(before);
  const old = entries.get(key);
  if (op === "set") entries.set(key, value);
  else if (op === "delete") entries.delete(key);
  else if (old !== undefined)
    entries.set(key, Object.fromEntries([...Object.entries(old as JsonObject), [place, value]]));
  return [...entries].sort(([one], [two]) => (one < two ? -1 : 1));
}
