import { allowsTool, type Principal } from "../../core/approval/principal.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { toolGuaranteeText } from "../../core/tool/tool-guarantee-text.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { lazyCel } from "../../expression/lazy-cel.ts";
import type { ToolActivityOptions, ToolActivityReport } from "../api/activity-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import type { PrincipalOptions } from "../api/request-options.ts";
import type { EngineTools, PutToolsOptions, ToolView } from "../api/tool-api.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { reportToolActivity } from "./tool-activity.ts";

/** Registers, removes and lists the tools of an engine while it runs. */
export class ToolAdmin implements EngineTools {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #onOffersChanged: () => Promise<void>;

  /** `onOffersChanged` records what the worker offers, and claims the runs that waited for it. */
  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns, onOffersChanged: () => Promise<void>) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#onOffersChanged = onOffersChanged;
  }

  async put(tools: readonly Tool[], options: PutToolsOptions = {}): Promise<void> {
    const problems = toolProblems(tools);
    if (problems.length > 0) throw new FaultError(fault("TOOL_INVALID", problems.join("; ")));
    const { ifKnown = "replace" } = options;
    if (ifKnown !== "replace" && ifKnown !== "refuse")
      throw new FaultError(fault("INVALID_INPUT", 'ifKnown must be "replace" or "refuse"'));
    const copied = [...tools];
    if (copied.some(({ preconditions }) => preconditions.length > 0)) await lazyCel.load();
    await this.#change(() => {
      if (ifKnown === "refuse") assertUnknown(copied, this.#ports.toolbox.own());
      this.#ports.toolbox.put(copied);
    });
  }

  async remove(names: readonly string[]): Promise<void> {
    if (!Array.isArray(names))
      throw new FaultError(fault("INVALID_INPUT", "names must be a list of the names of tools"));
    await this.#change(() => this.#ports.toolbox.remove(names));
  }

  async #change(change: () => void): Promise<void> {
    this.#leasedRuns.assertOpen();
    change();
    this.#ports.leases.setOffers(this.#ports.offers());
    await Promise.all(Array.from(this.#leasedRuns.all(), (leased) => leased.onToolsPut()));
    if (this.#leasedRuns.works) await this.#onOffersChanged();
  }

  async list({ principal }: PrincipalOptions): Promise<readonly ToolView[]> {
    const reader = readPrincipal(principal);
    return this.#ports.toolbox
      .own()
      .filter((tool) => mayCall(reader, tool))
      .map(toToolView);
  }

  activity(options: ToolActivityOptions): Promise<ToolActivityReport> {
    return reportToolActivity(this.#ports, options);
  }
}

function assertUnknown(tools: readonly Tool[], known: readonly Tool[]): void {
  const names = new Set(known.map(({ name }) => name));
  const twice = tools.flatMap(({ name }) => (names.has(name) ? [name] : []));
  if (twice.length === 0) return;
  const message = `the engine already has a tool named ${twice.join(", ")}; give the new one another name`;
  throw new FaultError(fault("TOOL_INVALID", message));
}

/** Returns what is wrong with a list of tools. */
export function toolProblems(tools: unknown): readonly string[] {
  if (!Array.isArray(tools)) return ["tools must be a list of tools made by defineTool"];
  const wrong = tools.flatMap((tool, index) => (typeof tool?.input?.parse === "function" ? [] : [index + 1]));
  return wrong.map((number) => `tools must be made by defineTool; number ${number} is not`);
}

/** The guards judge each call by more: its input, the policies and the limits. */
function mayCall({ capabilities = [], roles = [] }: Principal, tool: Tool): boolean {
  const hasRole = tool.roles.length === 0 || tool.roles.some((role) => roles.includes(role));
  return hasRole && capabilities.every((capability) => allowsTool(capability, tool.name));
}

function toToolView(tool: Tool): ToolView {
  const { name, version, description, effect, risk, tags, roles, timeoutMs, tries, external } = tool;
  return {
    name,
    version,
    description,
    effect,
    risk,
    tags,
    input: tool.input.json,
    output: tool.output.json,
    guarantee: toolGuaranteeText(tool),
    roles,
    timeout_ms: timeoutMs,
    tries,
    has_preview: tool.preview !== null,
    can_undo: tool.compensate !== null,
    external,
  };
}
