import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/core/state/snapshot.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const notes = defineSlice({ name: "notes", shape: "map", entry: {} });
const at = { principal: botAgent, project: "garden" };
const eve = { id: "eve", kind: "person", tenant: "other" } as const;

const write = scriptedTool(
  "write",
  async ({ input, context }) => {
    const word = String(input.word);
    context.slice(notes).set(word, word);
    await context.resource<Filesystem>("files").write(`${word}.txt`, word);
    return {};
  },
  { effect: "writes", resources: { files: "handle" } },
);

/** A snapshot as text, so that a test can write any key into it. */
async function taken(engine: Engine): Promise<string> {
  await engine.call("write", { word: "a" }, at);
  const text = JSON.stringify(await engine.checkpoints.take({ ...at, contents: true }));
  await engine.call("write", { word: "b" }, at);
  return text;
}

describe.each(storeKinds)("a snapshot that an attacker has written, on $name", ({ newFixture }) => {
  const open = async () => {
    const files = new MemoryFilesystem();
    const engine = await newFixture().open({ tools: [write.tool], slices: [notes], resources: { files } });
    return { engine, files, text: await taken(engine) };
  };
  const seen = async (engine: Engine, files: MemoryFilesystem) => ({
    notes: (await engine.state(at)).slice(notes).all(),
    files: await files.digest(),
  });

  it("changes nothing outside its slices and its tree, and no prototype", async () => {
    const { engine, files, text } = await open();
    const before = await seen(engine, files);
    const file = (path: string) => text.replace('"a.txt":', `${JSON.stringify(path)}:`);
    const wrong = [
      ...["../up.txt", "/etc/passwd", "a/../../up", "..\\up", "", ".", "a\u0000b", "a//b", ".git/hooks/x"].map(file),
      text.replace('"a.txt":', '"__proto__":'),
      text.replace('"files":{"resource"', '"__proto__":{"polluted":true},"files":{"resource"'),
      text.replace('"slices":{', '"slices":{"__proto__":{"shape":"map","entries":{}},'),
      text.replace('"slices":{', '"slices":{"constructor":{"shape":"map","entries":{}},'),
      text.replace('"slices":{', '"slices":{"toString":{"shape":"list","entries":[]},'),
      text.replace('"entries":{', '"entries":{"__proto__":{"polluted":true},'),
      text.replace('"entries":{', '"entries":{"constructor":"x",'),
      text.replace('"directories":[]', '"directories":["a.txt"]'),
      text.replace(/"digest":"[^"]*"/, '"digest":"sha256:0"'),
      text.replace(/"blobs":\{"([0-9a-f])/, '"blobs":{"0$1'),
      text.replace(/"blobs":\{[^}]*\}/, '"blobs":{}'),
      text.replace('"form":"files"', '"form":"links"'),
    ];
    for (const one of wrong) {
      expect(one).not.toBe(text);
      const loading = engine.checkpoints.load(JSON.parse(one) as Snapshot, at);
      const refused = await loading.then(
        ({ step }) => step.state,
        ({ fault }) => fault.code,
      );
      expect(["failed_final", "rejected", "INVALID_INPUT", "PLAN_INVALID"], one.slice(0, 300)).toContain(refused);
      expect(await seen(engine, files)).toEqual(before);
    }
    expect(({} as { polluted?: true }).polluted).toBeUndefined();
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
    const loaded = await engine.checkpoints.load(JSON.parse(text) as Snapshot, at);
    expect(loaded.step.state).toBe("succeeded");
  });

  it("cannot be larger than a request", async () => {
    const { engine, files, text } = await open();
    const before = await seen(engine, files);
    const large = JSON.parse(text) as { resources: { files: { contents: { blobs: Record<string, string> } } } };
    large.resources.files.contents.blobs.large = "A".repeat(80 * 1024 * 1024);
    const refused = await engine.checkpoints.load(large as unknown as Snapshot, at).then(
      ({ step }) => step.state,
      ({ fault }) => fault.code,
    );
    expect(refused).not.toBe("succeeded");
    expect(await seen(engine, files)).toEqual(before);
  });
});

describe.each(storeKinds)("another tenant, on $name", ({ newFixture }) => {
  it("reads, restores and compares no snapshot, no outcome and no run of this one", async () => {
    const files = new MemoryFilesystem();
    const engine = await newFixture().open({ tools: [write.tool], slices: [notes], resources: { files } });
    const { run_id } = await engine.call("write", { word: "a" }, at);
    const id = `${run_id}/call/before`;
    const as = { principal: eve };
    const codes = await Promise.all(
      [
        engine.checkpoints.get(id, as),
        engine.checkpoints.restore(id, { ...as, reason: "mine" }),
        engine.checkpoints.diff(id, `${run_id}/call/after`, as),
        engine.checkpoints.fork(id, as),
        engine.outcome(run_id.replace("run_", "out_"), as),
        engine.run(run_id, as),
        engine.verify(run_id, { ...as, reason: "mine" }),
      ].map(async (one) => (await rejectedFault(one)).code),
    );
    for (const code of codes) expect(code).toMatch(/_NOT_FOUND$/);
    expect((await engine.state(at)).slice(notes).size).toBe(1);
  });
});

describe.each(storeKinds)("a rule about a cost with an unknown name, on $name", ({ newFixture }) => {
  it("is refused when the engine opens", async () => {
    const tools = [scriptedTool("ask", () => ({}), { effect: "reads" }).tool];
    const policy = (when: string) => ({
      schema_version: "1.0",
      name: "dear",
      rules: [{ id: "dear", kind: "deny", on: { tools: ["ask"] }, when }],
    });
    const refused = await rejectedFault(newFixture().open({ tools, policies: [policy("estimate.gold > 3")] }));
    expect(refused).toMatchObject({ code: "POLICY_INVALID", message: expect.stringContaining("gold") });
  });
});
