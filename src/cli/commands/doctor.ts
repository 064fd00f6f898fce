import { Command } from "commander";
import { faultFromError } from "../fault-from-error.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line, tableLines } from "../safe-line.ts";
import { type OpenedEngine, withEngine } from "../with-engine.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
}

export function doctorCommand(invocation: Invocation): Command {
  const command = new Command("doctor")
    .description("check the store or the server, the workers and everything that waits for a person")
    .addHelpText("after", helpExample("writ doctor", "writ doctor --server https://writ.example.org"));
  return invocation.withAction(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const findings = [
        await finding("record", () => checkRecord(opened)),
        await finding("workers", () => checkWorkers(opened)),
        await finding("gates", async () =>
          waiting(await opened.engine.gates({ principal: opened.person, limit: 1, count: true }), "gates wait"),
        ),
        await finding("doubts", async () =>
          waiting(
            await opened.engine.inDoubt({ principal: opened.person, limit: 1, count: true }),
            "acts are in doubt",
          ),
        ),
        await finding("halts", () => checkHalts(opened)),
      ];
      invocation.terminal.printResult({ ok: findings.every(({ ok }) => ok), findings }, () =>
        tableLines(
          findings.map(({ check, ok, found }) => [line`${ok ? "ok" : "look"}`, line`${check}`, line`${found}`]),
        ),
      );
      return findings.every(({ ok }) => ok) ? 0 : 3;
    }),
  );
}

type Found = Omit<Finding, "check">;

/** A check that fails is a finding, and the others are made in any case. */
async function finding(check: string, look: () => Promise<Found>): Promise<Finding> {
  try {
    return { check, ...(await look()) };
  } catch (error) {
    const fault = faultFromError(error);
    if (fault === null) throw error;
    return { check, ok: false, found: `${fault.code}: ${fault.message}` };
  }
}

async function checkRecord({ engine, person }: OpenedEngine): Promise<Found> {
  const { broken, rows, tallies } = await engine.audit({ principal: person });
  const count = broken.length + rows.length + tallies.length;
  return { ok: count === 0, found: count === 0 ? "unchanged" : `changed in ${count} places; see: writ audit` };
}

async function checkWorkers({ engine, person }: OpenedEngine): Promise<Found> {
  const { workers, waiting: stuck } = await engine.workers({ principal: person });
  const found = `${workers.length} known, ${stuck.length} runs that none of them continues`;
  return { ok: stuck.length === 0, found: stuck.length === 0 ? found : `${found}; see: writ workers` };
}

function waiting({ count }: { readonly count: number | null }, what: string): Found {
  return { ok: count === 0, found: `${count ?? 0} ${what}` };
}

async function checkHalts({ engine, person }: OpenedEngine): Promise<Found> {
  const halts = await engine.halts.list({ principal: person });
  return { ok: halts.length === 0, found: halts.length === 0 ? "none" : `${halts.length} in force; see: writ halts` };
}
