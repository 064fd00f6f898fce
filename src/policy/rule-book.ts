import type { Basis, Objection } from "../core/basis.ts";
import { type Mode, strictest } from "../core/effect.ts";
import { type Fault, fault } from "../core/fault.ts";
import { type Admission, ALLOW, type Hold, type Policy, stricter, type Verdict } from "../core/guard.ts";
import type { Allowance } from "../core/limits/budget.ts";
import type { ToolFacts } from "../core/proposal.ts";
import type { Aftermath } from "../core/state/aftermath.ts";
import type { Check } from "../core/store.ts";
import { Case } from "./case.ts";
import { broken, type Invariant } from "./invariant.ts";
import { layerOf, type PolicyPart, type Trust } from "./read-policy.ts";
import type { Rule, Said } from "./rule.ts";
import { risks } from "./selector.ts";
import { placeFor } from "./state-places.ts";

/** The policies of all layers as one. Each can only add to what the others ask for, so that their order does not matter. */
export class RuleBook implements Policy {
  readonly version: string;
  readonly checks: readonly Check[];
  readonly mode: Mode | null;
  readonly limits: readonly Allowance[];
  readonly #invariants: readonly Invariant[];
  readonly #looks: boolean;
  readonly #parts: readonly PolicyPart[];
  /** What each tool has to do with: found once, since most rules are about other tools. */
  readonly #byTool = new Map<string, readonly Chapter[]>();

  constructor(version: string, parts: readonly PolicyPart[], checks: readonly Check[] = []) {
    this.version = version;
    this.checks = checks;
    this.#parts = parts;
    this.#invariants = parts.flatMap(({ invariants }) => invariants);
    this.#looks = parts.some(({ rules }) => rules.some(({ places }) => places !== null));
    this.limits = parts.flatMap(({ rules }) => rules.flatMap(({ limit }) => limit ?? []));
    const asked = parts.flatMap(({ mode }) => (mode === null ? [] : [mode]));
    this.mode = asked.length === 0 ? null : asked.reduce(strictest);
  }

  stepsMost(mode: Mode): number | null {
    const limits = this.#parts.flatMap(({ maxSteps }) => maxSteps[mode] ?? []);
    return limits.length === 0 ? null : Math.min(...limits);
  }

  trusts(tool: ToolFacts, earned: number): boolean {
    return this.#trustIn(tool).some(({ after }) => earned >= after);
  }

  earns(tool: ToolFacts): boolean {
    return this.#trustIn(tool).some(({ after }) => after > 0);
  }

  /** Never above the risk that it says, however much was earned. */
  #trustIn({ name, risk }: ToolFacts): readonly Trust[] {
    return this.#parts
      .flatMap(({ trust }) => trust)
      .filter(
        (each) => risks.indexOf(risk) <= risks.indexOf(each.risk) && each.tools.some((glob) => glob.matches(name)),
      );
  }

  /** Every rule that is for the call is asked, and all that is said against it is told: refuse > hold > allow. */
  judge(admission: Admission): Verdict {
    const { tool } = admission.proposal;
    if (tool === null) return ALLOW; // A step that calls nothing does nothing that a rule could be about.
    const call = new Case(admission, tool);
    const passed: string[] = [];
    const against: Against[] = [];
    for (const chapter of this.#chaptersFor(tool)) askChapter(chapter, call, passed, against);
    const objections = against.map(({ rule, said }): Objection => ({ rule, says: said.says, reason: said.reason }));
    return verdictOf(against, { policy: this.version, passed, objections });
  }

  /** A rule whose condition cannot be answered refuses when the call is judged, and limits nothing before. */
  limitsFor(admission: Admission): readonly Allowance[] {
    const { tool } = admission.proposal;
    if (tool === null || this.limits.length === 0) return NONE;
    const call = new Case(admission, tool);
    return this.#chaptersFor(tool).flatMap(({ objects }) =>
      objects.flatMap(({ limit, on, when }) =>
        limit !== null && on.fitsCall(call) && (when === null || call.asks(when) === true) ? [limit] : [],
      ),
    );
  }

  placesFor(admission: Admission): readonly string[] {
    const { tool } = admission.proposal;
    if (tool === null || !this.#looks) return NONE;
    const call = new Case(admission, tool);
    return this.#chaptersFor(tool).flatMap(({ objects }) =>
      objects.flatMap(({ places, on }) =>
        places === null || !on.fitsCall(call) ? [] : places.flatMap(([, place]) => placeFor(place, call.input) ?? []),
      ),
    );
  }

  broken(aftermath: () => Aftermath): Fault | null {
    if (this.#invariants.length === 0) return null;
    const found = broken(this.#invariants, aftermath());
    if (found === null) return null;
    const { rule, reason } = found;
    return fault("STATE_INVALID", `policy ${rule}: ${reason}`, { rule, policy: this.version });
  }

  #chaptersFor(tool: ToolFacts): readonly Chapter[] {
    const known = this.#byTool.get(tool.name);
    if (known !== undefined) return known;
    const made = this.#parts.map((part) => chapterOf(part, tool));
    this.#byTool.set(tool.name, made);
    return made;
  }
}

const NONE: readonly never[] = [];

/** What one document has to say of one tool. */
interface Chapter {
  readonly prefix: string;
  readonly roles: readonly string[] | null;
  /** Null: the document permits whatever it does not object to. */
  readonly permits: readonly Rule[] | null;
  readonly objects: readonly Rule[];
}

interface Against {
  readonly rule: string;
  readonly said: Said;
}

function chapterOf({ name, scope, roles, rules }: PolicyPart, tool: ToolFacts): Chapter {
  const mine = rules.filter(({ on }) => on.fitsTool(tool));
  const isList = rules.some(({ role }) => role === "permits");
  return {
    prefix: `${layerOf(scope)}/${name}`,
    roles,
    permits: isList ? mine.filter(({ role }) => role === "permits") : null,
    objects: mine.filter(({ role }) => role === "objects"),
  };
}

function askChapter(
  { prefix, roles, permits, objects }: Chapter,
  call: Case,
  passed: string[],
  against: Against[],
): void {
  const stranger = roles === null ? undefined : call.principal.roles?.find((role) => !roles.includes(role));
  if (stranger !== undefined)
    against.push(
      refusal(`${prefix}/roles`, `${call.principal.id} has the role ${stranger}, which the policy does not know`),
    );
  for (const rule of objects) {
    if (!rule.on.fitsCall(call)) continue;
    const said = ask(rule, call);
    if (said === null) passed.push(rule.id);
    else against.push({ rule: rule.id, said });
  }
  // What was done may be undone, though it could not be done any more.
  if (permits !== null && call.cause !== "undo") askPermits(prefix, permits, call, passed, against);
}

function askPermits(prefix: string, permits: readonly Rule[], call: Case, passed: string[], against: Against[]): void {
  for (const rule of permits) {
    if (!rule.on.fitsCall(call)) continue;
    const applies = rule.when === null || call.asks(rule.when);
    if (applies === true) {
      passed.push(rule.id);
      return;
    }
    if (applies !== false) against.push(refusal(rule.id, unanswerable(rule, applies.wrong)));
  }
  against.push(refusal(`${prefix}/allow`, `${call.tool.name} is not among what is allowed`));
}

function ask(rule: Rule, call: Case): Said | null {
  const applies = rule.when === null || call.asks(rule.when);
  if (applies === false) return null;
  if (applies !== true) return { says: "refuse", reason: unanswerable(rule, applies.wrong) };
  return rule.clause(call);
}

function unanswerable({ when }: Rule, wrong: string): string {
  return `${when?.source} cannot be answered: ${wrong}`;
}

function refusal(rule: string, reason: string): Against {
  return { rule, said: { says: "refuse", reason } };
}

function verdictOf(against: readonly Against[], basis: Basis): Verdict {
  const refusals = against.filter(({ said }) => said.says === "refuse");
  const [first] = refusals;
  if (first !== undefined) {
    const message = refusals.map(({ rule, said }) => `policy ${rule}: ${said.reason}`).join("; ");
    return { kind: "refuse", rule: first.rule, fault: fault("POLICY_DENIED", message), basis };
  }
  const holds = against.flatMap(({ rule, said }): readonly Hold[] =>
    said.says === "hold" ? [{ kind: "hold", rule, reason: said.reason, demand: said.demand }] : [],
  );
  const [hold, ...more] = holds;
  return { ...(hold === undefined ? ALLOW : more.reduce(stricter, hold)), basis };
}
