import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Principal, stateBounds } from "../../src/core/approval/principal.ts";
import type { FaultCode } from "../../src/core/values/fault.ts";
import type { Engine, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { scopes } from "../../src/http-api/api-route.ts";
import { expectedCode, principals, samples, worldOptions } from "../engine/verb-samples.ts";
import { type ServedEngine, serveEngine } from "../server/server-fixture.ts";
import { type CommandSample, commandSamples, commandsWithoutVerb } from "./command-samples.ts";
import { newProjectFolder } from "./project-folder.ts";
import { type CliOutput, commandNames, runCliIn } from "./run-cli.ts";

let cwd: string;
beforeAll(() => {
  cwd = newProjectFolder();
});
afterAll(() => rmSync(cwd, { recursive: true }));

/** Serves an engine to all principals of the table. Every one has all scopes, so that the table alone decides. */
function serveWorld(): Promise<ServedEngine> {
  return serveEngine({
    engine: worldOptions(),
    authenticators: [
      ({ bearer }) => {
        const principal = principals[(bearer ?? "").replaceAll("-", " ")];
        return principal === undefined ? null : { principal, scopes };
      },
    ],
  });
}

/** Returns the fault code that a command printed, or null. */
function printedCode({ out }: CliOutput): FaultCode | null {
  const lines = out.trim().split("\n");
  return JSON.parse(lines.at(-1) || "{}").fault?.code ?? null;
}

/** Returns the code that the table demands of a command: that of its first verb that is refused. */
function demandedCode(sample: CommandSample, principal: PrincipalInput): FaultCode | null {
  const { verbs, wholeState = false, ofTenant = false } = sample;
  const codes = verbs.map((verb) => expectedCode(verb, principal, ofTenant ? {} : samples[verb]));
  const isBounded = wholeState && stateBounds(principal as Principal).length > 0;
  return codes.find((code) => code !== null) ?? (isBounded ? "AUTH_FORBIDDEN" : null);
}

/** Returns everything that the engine has recorded, as its journals show it. */
async function recorded(engine: Engine): Promise<unknown> {
  const principal = { id: "auditor", kind: "person", tenant: "acme", roles: ["chief"] } as const;
  const { runs, events } = await engine.audit({ principal });
  return { runs, events };
}

describe("every command by every principal, against a server", () => {
  it.each(Object.entries(commandSamples))("%s answers as the table of verbs says", async (_, sample) => {
    for (const [who, principal] of Object.entries(principals)) {
      const served = await serveWorld();
      try {
        const args = await sample.prepare(served.engine);
        const before = await recorded(served.engine);
        const env = { WRIT_SERVER: served.server.url, WRIT_TOKEN: who.replaceAll(" ", "-") };
        const output = await runCliIn(cwd, { env, input: sample.input ?? "" }, ...args, "--json");
        const demanded = demandedCode(sample, principal);
        const fails = sample.verbs.flatMap((verb) => samples[verb].fails ?? []);
        const code = printedCode(output);
        const isAllowed = demanded === null && code !== null && fails.includes(code);
        expect(isAllowed ? null : code, `${who}: ${output.out}${output.err}`).toBe(demanded);
        const isContested = sample.verbs.some((verb) => verb === "approve" || verb === "reject");
        if (code === "AUTH_FORBIDDEN" && !isContested) expect(await recorded(served.engine), who).toEqual(before);
      } finally {
        await served.close();
      }
    }
  });

  it("is every command that the help lists, but for those that no verb judges", async () => {
    const sampled = Object.keys(commandSamples).map((name) => name.split(" ")[0]);
    const listed = [...new Set([...sampled, ...Object.keys(commandsWithoutVerb)])];
    expect(listed.sort()).toEqual([...(await commandNames())].sort());
  });
});
