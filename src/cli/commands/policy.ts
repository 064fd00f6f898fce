import { dirname, resolve } from "node:path";
import { Argument, Command } from "commander";
import { FaultError, fault } from "../../core/fault.ts";
import { isObject, type Json } from "../../core/json/json.ts";
import { cel } from "../../expression/cel.ts";
import { layerOf, type PolicyPart, readPolicy } from "../../policy/read-policy.ts";
import type { ExitCode } from "../exit-code.ts";
import { example, type Invocation, invalid } from "../invocation.ts";
import { readPolicyFile } from "../json-file.ts";
import { line, tableLines } from "../line.ts";
import { readCases, type TrialResult, tried } from "../policy-trial.ts";

export function policyCommand(invocation: Invocation): Command {
  const command = new Command("policy")
    .description("check a policy, or test policies against a table of cases; nothing is stored or called")
    .addArgument(new Argument("<what>", "what to do with it").choices(["check", "test"]))
    .argument("<file>", "a file with the policy, or with { policies, cases }, as JSON")
    .addHelpText("after", example("writ policy check policy.json", "writ policy test cases.json --json"));
  return invocation.does(command, ([what = "", file = ""]) =>
    what === "check" ? checked(invocation, file) : tested(invocation, file),
  );
}

async function checked({ host, terminal }: Invocation, file: string): Promise<ExitCode> {
  const { name, scope, rules } = read(await readPolicyFile(file, host.cwd), file);
  const ids = rules.map(({ id }) => id);
  terminal.answer({ ok: true, name, scope, rules: ids }, () => [
    line`${file} can be used: ${name}, for ${layerOf(scope)}, ${rules.length} rules`,
  ]);
  return 0;
}

async function tested({ host, terminal }: Invocation, file: string): Promise<ExitCode> {
  const table = await readPolicyFile(file, host.cwd);
  if (!isObject(table) || !Array.isArray(table.policies))
    throw invalid(`${file} has no policies; write { "policies": [...], "cases": [...] }`);
  const folder = dirname(resolve(host.cwd, file));
  const policies: Json[] = [];
  for (const named of table.policies as readonly Json[]) {
    const document = typeof named === "string" ? await readPolicyFile(named, folder) : named;
    policies.push(read(document, typeof named === "string" ? named : file).document);
  }
  const results: TrialResult[] = [];
  for (const each of readCases(table.cases ?? null)) results.push(await tried(policies, each));
  const wrong = results.filter(({ ok }) => !ok).length;
  terminal.answer({ cases: results.length, wrong, results }, () => [
    ...tableLines(
      results.map(({ ok, name, expected, found, reason }) => [
        line`${ok ? "ok" : "wrong"}`,
        line`${name}`,
        line`${ok ? found : `expected ${expected}, found ${found}`}${reason === "" ? "" : `: ${reason}`}`,
      ]),
    ),
    line`${results.length} cases, ${wrong} wrong`,
  ]);
  return wrong === 0 ? 0 : 4;
}

function read(document: Json, file: string): PolicyPart {
  const made = readPolicy(document, cel);
  if (made.ok) return made.policy;
  const reasons = made.reasons.map(({ path, message }) => ({ path, message }));
  const list = reasons.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ");
  throw new FaultError(fault("POLICY_INVALID", `${file} cannot be used: ${list}`, { reasons }));
}
