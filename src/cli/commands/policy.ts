import { dirname, resolve } from "node:path";
import { Argument, Command } from "commander";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isJsonObject, type Json } from "../../core/values/json.ts";
import { cel } from "../../expression/cel.ts";
import { layerOf, type PolicyDocument, parsePolicy } from "../../policy/parser/parse-policy.ts";
import type { ExitCode } from "../exit-code.ts";
import { helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { readPolicyFile } from "../json-file.ts";
import { type PolicyCaseResult, readPolicyCases, runPolicyCase } from "../policy-case.ts";
import { line, tableLines } from "../safe-line.ts";

export function policyCommand(invocation: Invocation): Command {
  const command = new Command("policy")
    .description("check a policy, or test policies against a table of cases; nothing is stored or called")
    .addArgument(new Argument("<what>", "action").choices(["check", "test"]))
    .argument("<file>", "JSON file with the policy, or with { policies, cases }")
    .addHelpText("after", helpExample("writ policy check policy.json", "writ policy test cases.json --json"));
  return invocation.withAction(command, ([what = "", file = ""]) =>
    what === "check" ? checkPolicy(invocation, file) : testPolicy(invocation, file),
  );
}

async function checkPolicy({ host, terminal }: Invocation, file: string): Promise<ExitCode> {
  const { name, scope, rules } = parsePolicyFile(await readPolicyFile(file, host.cwd), file);
  const ids = rules.map(({ id }) => id);
  terminal.printResult({ ok: true, name, scope, rules: ids }, () => [
    line`${file} is valid: ${name}, for ${layerOf(scope)}, ${rules.length} rules`,
  ]);
  return 0;
}

async function testPolicy({ host, terminal }: Invocation, file: string): Promise<ExitCode> {
  const table = await readPolicyFile(file, host.cwd);
  if (!isJsonObject(table) || !Array.isArray(table.policies))
    throw invalidInput(`${file} has no policies; write { "policies": [...], "cases": [...] }`);
  const folder = dirname(resolve(host.cwd, file));
  const policies: Json[] = [];
  for (const named of table.policies as readonly Json[]) {
    const document = typeof named === "string" ? await readPolicyFile(named, folder) : named;
    policies.push(parsePolicyFile(document, typeof named === "string" ? named : file).document);
  }
  const results: PolicyCaseResult[] = [];
  for (const each of readPolicyCases(table.cases ?? null)) results.push(await runPolicyCase(policies, each));
  const wrong = results.filter(({ ok }) => !ok).length;
  terminal.printResult({ cases: results.length, wrong, results }, () => [
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

function parsePolicyFile(document: Json, file: string): PolicyDocument {
  const made = parsePolicy(document, cel);
  if (made.ok) return made.policy;
  const reasons = made.reasons.map(({ path, message }) => ({ path, message }));
  const list = reasons.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ");
  throw new FaultError(fault("POLICY_INVALID", `${file} is not valid: ${list}`, { reasons }));
}
