import { isJudgedByName } from "../core/approval/verb-rules.ts";
import type { Basis, Objection } from "../core/approval/verdict-basis.ts";
import {
  type Admission,
  ALLOW,
  type HoldVerdict,
  type Policy,
  stricterHold,
  type Verdict,
} from "../core/call/guard.ts";
import type { ToolFacts } from "../core/call/proposal.ts";
import type { LimitSet } from "../core/limits/budget.ts";
import { resolveStatePointer } from "../core/state/named-state-pointers.ts";
import type { StateAfterPatch } from "../core/state/state-after-patch.ts";
import type { Check } from "../core/store/store.ts";
import { type Mode, stricterMode } from "../core/values/effect.ts";
import { type Fault, fault } from "../core/values/fault.ts";
import { layerOf, type PolicyDocument, type TrustRule } from "./parser/parse-policy.ts";
import { riskLevels } from "./rules/call-selector.ts";
import type { Rule, RuleAnswer } from "./rules/rule.ts";
import { RuleInput } from "./rules/rule-input.ts";
import { findBrokenInvariant, type StateInvariant } from "./rules/state-invariant.ts";

/** The policies of all layers combined. Each layer can only add restrictions, so their order does not matter. */
export class CompiledPolicy implements Policy {
  readonly version: string;
  readonly checks: readonly Check[];
  readonly mode: Mode | null;
  readonly limits: readonly LimitSet[];
  readonly #invariants: readonly StateInvariant[];
  readonly #readsState: boolean;
  readonly #documents: readonly PolicyDocument[];
  /** The rules for each tool, found once: most rules apply to other tools. */
  readonly #byTool = new Map<string, readonly ToolRules[]>();

  constructor(version: string, documents: readonly PolicyDocument[], checks: readonly Check[] = []) {
    this.version = version;
    this.checks = checks;
    this.#documents = documents;
    this.#invariants = documents.flatMap(({ invariants }) => invariants);
    this.#readsState = documents.some(({ rules }) => rules.some(({ pointers }) => pointers !== null));
    this.limits = documents.flatMap(({ rules }) => rules.flatMap(({ limit }) => limit ?? []));
    const modes = documents.flatMap(({ mode }) => (mode === null ? [] : [mode]));
    this.mode = modes.length === 0 ? null : modes.reduce(stricterMode);
  }

  maxSteps(mode: Mode): number | null {
    const limits = this.#documents.flatMap(({ maxSteps }) => maxSteps[mode] ?? []);
    return limits.length === 0 ? null : Math.min(...limits);
  }

  trusts(tool: ToolFacts, earned: number): boolean {
    return this.#trustRulesFor(tool).some(({ after }) => earned >= after);
  }

  earns(tool: ToolFacts): boolean {
    return this.#trustRulesFor(tool).some(({ after }) => after > 0);
  }

  /** A trust rule never applies above its risk level, however much trust was earned. */
  #trustRulesFor({ name, risk }: ToolFacts): readonly TrustRule[] {
    return this.#documents
      .flatMap(({ trust }) => trust)
      .filter(
        (each) =>
          riskLevels.indexOf(risk) <= riskLevels.indexOf(each.risk) &&
          each.tools.some((pattern) => pattern.matches(name)),
      );
  }

  /** Evaluates every rule that applies to the call and records all objections: refuse > hold > allow. */
  judge(admission: Admission): Verdict {
    const { tool } = admission.proposal;
    if (tool === null) return ALLOW; // Rules are about calls of tools.
    const call = new RuleInput(admission, tool);
    const passed: string[] = [];
    const against: RuleObjection[] = [];
    for (const toolRules of this.#rulesFor(tool)) evaluateRules(toolRules, call, passed, against);
    const objections = against.map(
      ({ rule, answer }): Objection => ({ rule, says: answer.says, reason: answer.reason }),
    );
    return makeVerdict(against, { policy: this.version, passed, objections });
  }

  /** A rule whose condition cannot be evaluated sets no limit here; `judge` refuses its calls. */
  limitsFor(admission: Admission): readonly LimitSet[] {
    const { tool } = admission.proposal;
    if (tool === null || this.limits.length === 0) return NONE;
    const call = new RuleInput(admission, tool);
    return this.#rulesFor(tool).flatMap(({ objects }) =>
      objects.flatMap(({ limit, on, when }) =>
        limit !== null && on.matchesCall(call) && (when === null || call.evaluate(when) === true) ? [limit] : [],
      ),
    );
  }

  statePointersFor(admission: Admission): readonly string[] {
    const { tool } = admission.proposal;
    if (tool === null || !this.#readsState) return NONE;
    const call = new RuleInput(admission, tool);
    return this.#rulesFor(tool).flatMap(({ objects }) =>
      objects.flatMap(({ pointers, on }) =>
        pointers === null || !on.matchesCall(call)
          ? []
          : pointers.flatMap(([, pointer]) => resolveStatePointer(pointer, call.input) ?? []),
      ),
    );
  }

  brokenInvariant(stateAfter: () => StateAfterPatch): Fault | null {
    if (this.#invariants.length === 0) return null;
    const found = findBrokenInvariant(this.#invariants, stateAfter());
    if (found === null) return null;
    const { rule, reason } = found;
    return fault("STATE_INVALID", `policy ${rule}: ${reason}`, { rule, policy: this.version });
  }

  #rulesFor(tool: ToolFacts): readonly ToolRules[] {
    const cached = this.#byTool.get(tool.name);
    if (cached !== undefined) return cached;
    const rules = this.#documents.map((document) => rulesForTool(document, tool));
    this.#byTool.set(tool.name, rules);
    return rules;
  }
}

const NONE: readonly never[] = [];

/** The rules of one document for one tool. */
interface ToolRules {
  readonly prefix: string;
  readonly roles: readonly string[] | null;
  /** Null: the document has no `allow` rules, so it permits every call that no rule objects to. */
  readonly permits: readonly Rule[] | null;
  readonly objects: readonly Rule[];
}

interface RuleObjection {
  readonly rule: string;
  readonly answer: RuleAnswer;
}

function rulesForTool({ name, scope, roles, rules }: PolicyDocument, tool: ToolFacts): ToolRules {
  const matching = rules.filter(({ on }) => on.matchesTool(tool));
  const isSilent = isJudgedByName(tool.name) && matching.length === 0; // No rule names the verb.
  const hasPermits = !isSilent && rules.some(({ role }) => role === "permits");
  return {
    prefix: `${layerOf(scope)}/${name}`,
    roles: isSilent ? null : roles,
    permits: hasPermits ? matching.filter(({ role }) => role === "permits") : null,
    objects: matching.filter(({ role }) => role === "objects"),
  };
}

function evaluateRules(
  { prefix, roles, permits, objects }: ToolRules,
  call: RuleInput,
  passed: string[],
  against: RuleObjection[],
): void {
  const unknownRole = roles === null ? undefined : call.principal.roles?.find((role) => !roles.includes(role));
  if (unknownRole !== undefined)
    against.push(
      refusal(`${prefix}/roles`, `${call.principal.id} has the role ${unknownRole}, which the policy does not list`),
    );
  for (const rule of objects) {
    if (!rule.on.matchesCall(call) || (rule.momentary && call.admission.recorded)) continue;
    const answer = evaluateRule(rule, call);
    if (answer === null) passed.push(rule.id);
    else against.push({ rule: rule.id, answer });
  }
  // An act may be undone even if the policy no longer permits the act.
  if (permits !== null && call.cause !== "undo") evaluatePermits(prefix, permits, call, passed, against);
}

function evaluatePermits(
  prefix: string,
  permits: readonly Rule[],
  call: RuleInput,
  passed: string[],
  against: RuleObjection[],
): void {
  for (const rule of permits) {
    if (!rule.on.matchesCall(call)) continue;
    const applies = rule.when === null || call.evaluate(rule.when);
    if (applies === true) {
      passed.push(rule.id);
      return;
    }
    if (applies !== false) against.push(refusal(rule.id, conditionFailed(rule, applies.wrong)));
  }
  against.push(refusal(`${prefix}/allow`, `${call.tool.name} matches no allow rule`));
}

function evaluateRule(rule: Rule, call: RuleInput): RuleAnswer | null {
  const applies = rule.when === null || call.evaluate(rule.when);
  if (applies === false) return null;
  if (applies !== true) return { says: "refuse", reason: conditionFailed(rule, applies.wrong) };
  return rule.check(call);
}

function conditionFailed({ when }: Rule, wrong: string): string {
  return `${when?.source} cannot be evaluated: ${wrong}`;
}

function refusal(rule: string, reason: string): RuleObjection {
  return { rule, answer: { says: "refuse", reason } };
}

function makeVerdict(against: readonly RuleObjection[], basis: Basis): Verdict {
  const refusals = against.filter(({ answer }) => answer.says === "refuse");
  const [first] = refusals;
  if (first !== undefined) {
    const message = refusals.map(({ rule, answer }) => `policy ${rule}: ${answer.reason}`).join("; ");
    return { kind: "refuse", rule: first.rule, fault: fault("POLICY_DENIED", message), basis };
  }
  const holds = against.flatMap(({ rule, answer }): readonly HoldVerdict[] =>
    answer.says === "hold" ? [{ kind: "hold", rule, reason: answer.reason, demand: answer.demand }] : [],
  );
  const [hold, ...more] = holds;
  return { ...(hold === undefined ? ALLOW : more.reduce(stricterHold, hold)), basis };
}
