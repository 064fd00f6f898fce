// This file is compiled, not run: it checks the types of calls, plans, principals and resources.
import { z } from "zod";
import {
  agent,
  defineTool,
  type Engine,
  type HandlesOf,
  type Json,
  type PrincipalInput,
  plan,
} from "../../src/index.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import type { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";

type Same<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false;
function same<_Proof extends true>(): void {}

declare const engine: Engine;
declare const resources: { readonly files: MemoryFilesystem };
declare module "../../src/core/ports/resource.ts" {
  interface ResourceHandles extends HandlesOf<typeof resources> {}
}

const principal: PrincipalInput = agent("bot", "demo", { roles: ["clerk"] });
const write = defineTool({
  name: "mail.write",
  effect: "reads",
  resources: { files: "handle" },
  input: z.object({ to: z.string(), tone: z.enum(["kind", "brief"]).default("kind") }),
  output: z.object({ body: z.string(), lines: z.array(z.object({ length: z.number() })), note: z.string().optional() }),
  run: async ({ to }, context) => {
    const files = context.resource("files");
    same<Same<typeof files, Filesystem>>();
    same<Same<ReturnType<typeof readOther>, { a: number }>>();
    const readOther = () => context.resource<{ a: number }>("other");
    return { body: to, lines: [] };
  },
});
const send = defineTool({
  name: "mail.send",
  effect: "acts",
  input: z.object({ to: z.string(), body: z.string(), size: z.number(), tags: z.array(z.string()) }),
  output: z.object({ id: z.string() }),
  run: async (_, { key }) => ({ id: key }),
});
const raw = defineTool({ name: "raw", effect: "pure", input: {}, output: {}, run: (input) => input });

export async function callTypedApi(): Promise<void> {
  const { step } = await engine.call(write, { to: "ana" }, { principal });
  if (step.state === "succeeded") same<Same<typeof step.output.body, string>>();
  same<Same<NonNullable<typeof step.output>["body"], string>>();
  const named = await engine.call("mail.write", { to: "ana" }, { principal });
  same<Same<typeof named.step.output, Json | undefined>>();
  named.step.fault?.message;
  await engine.call(raw, { any: ["thing"] }, { principal });
  // @ts-expect-error the input has no such field
  await engine.call(write, { to: "ana", from: "bob" }, { principal });
  // @ts-expect-error the field is a text
  await engine.call(write, { to: 1 }, { principal });
}

export const typedApiPlan = plan(({ step, add }) => {
  const letter = step("write", write, { to: "ana" }, { on_failure: "retry", retries: 2 });
  const echoed = step("raw", raw, { deep: [{ is: letter.output.body }] });
  const paid = add({ step_id: "paid", kind: "wait", payload: { signal: "paid" } });
  step("send", send, {
    to: "ana",
    body: letter.output.body,
    size: letter.output.lines[0]?.length ?? 0,
    tags: [letter.output.body, "new"],
  });
  step("again", send, { to: paid.output.from ?? "", body: echoed.output.body ?? "", size: 1, tags: [] });
  // @ts-expect-error a number is no text
  step("wrong", send, { to: "ana", body: letter.output.lines, size: 1, tags: [] });
  // @ts-expect-error the output has no such field
  step("none", send, { to: "ana", body: letter.output.bdy, size: 1, tags: [] });
  // @ts-expect-error the tool needs its whole input
  step("part", send, { to: "ana" });
});
