import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Principal, stateBounds } from "../../src/core/approval/principal.ts";
import type { FaultCode } from "../../src/core/values/fault.ts";
import type { Engine, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { scopes } from "../../src/http-api/api-route.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { botAgent } from "../engine/engine-fixture.ts";
import { expectedCode, principals, samples, worldOptions } from "../engine/verb-samples.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { type ServedEngine, serveEngine } from "../server/server-fixture.ts";
import { type CommandSample, commandSamples, commandsWithoutVerb, localSamples } from "./command-samples.ts";
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

/** The people of the table who use the command line without a server, and the options that say so. */
const localPeople: Readonly<Record<string, readonly string[]>> = {
  "person without role": ["--as", "ana"],
  person: ["--as", "bo", "--role", "chief", "--role", "operator"],
  "person of another tenant": ["--as", "cy", "--role", "chief", "--role", "operator", "--tenant", "globex"],
};

/** Makes a folder with a store, in which a command line has been prepared, and returns its arguments. */
async function prepareFolder(folder: string, sample: CommandSample): Promise<readonly string[]> {
  const world = JSON.stringify(repositoryPath("tests", "engine", "verb-samples.ts"));
  const principal = JSON.stringify(botAgent);
  const config = `import { worldOptions } from ${world};\nexport default { ...worldOptions(), principal: ${principal} };\n`;
  writeFileSync(join(folder, "writ.config.mjs"), config);
  const engine = await createEngine({ ...worldOptions(), store: sqlite(join(folder, "writ.db")) });
  try {
    return await sample.prepare(engine);
  } finally {
    await engine.close();
  }
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
    const sampled = Object.keys({ ...commandSamples, ...localSamples }).map((name) => name.split(" ")[0]);
    const listed = [...new Set([...sampled, ...Object.keys(commandsWithoutVerb)])];
    expect(listed.sort()).toEqual([...(await commandNames())].sort());
  });
});

describe("every command by every person, on a store of this machine", () => {
  it.each(Object.entries({ ...commandSamples, ...localSamples }))("%s is judged by the table", async (_, sample) => {
    for (const [who, options] of Object.entries(localPeople)) {
      const folder = mkdtempSync(join(cwd, "cell-"));
      const args = await prepareFolder(folder, sample);
      const output = await runCliIn(folder, { input: sample.input ?? "" }, ...args, ...options, "--json");
      const person = principals[who] as PrincipalInput;
      const roles = [...(person.roles ?? []), ...(sample.asOperator ? ["operator"] : [])];
      const demanded = demandedCode(sample, { ...person, roles });
      const fails = sample.verbs.flatMap((verb) => samples[verb].fails ?? []);
      const code = printedCode(output);
      const isAllowed = demanded === null && code !== null && fails.includes(code);
      expect(isAllowed ? null : code, `${who}: ${output.out}${output.err}`).toBe(demanded);
    }
  });
});
