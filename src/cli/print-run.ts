import type { Invocation } from "./invocation.ts";
import { loadAdviceFacts } from "./load-advice-facts.ts";
import type { ShownResult } from "./run-advice.ts";
import { runResultLines } from "./run-result-text.ts";
import type { SafeLine } from "./safe-line.ts";
import type { OpenedEngine } from "./with-engine.ts";

/** Prints a run and what can be done now, or the document with --json. */
export async function printRun(
  { terminal }: Invocation,
  opened: OpenedEngine,
  result: ShownResult,
  { document = result, before = [] }: { readonly document?: unknown; readonly before?: readonly SafeLine[] } = {},
): Promise<void> {
  if (terminal.json) return terminal.printJson(document);
  const handle = await opened.engine.run(result.run_id, { principal: opened.person });
  const facts = await loadAdviceFacts(handle, result);
  terminal.print(...before, ...runResultLines(result, facts, opened, terminal.style));
}
