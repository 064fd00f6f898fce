import { Command } from "commander";
import type { Event } from "../../core/event/event.ts";
import { otlpSpans } from "../../otel/otlp-spans.ts";
import { helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { withEngine } from "../with-engine.ts";

export function exportCommand(invocation: Invocation): Command {
  const command = new Command("export")
    .description("print a run in the format of another program")
    .argument("<run>", "id of the run; see: writ runs")
    .option("--otlp", "as spans of OpenTelemetry, rebuilt from the journal: an OTLP request in JSON")
    .addHelpText(
      "after",
      helpExample(
        "writ export run_01k2… --otlp > spans.json",
        "curl -H 'content-type: application/json' -d @spans.json http://localhost:4318/v1/traces",
      ),
    );
  return invocation.withAction<{ readonly otlp?: boolean }>(command, ([run = ""], { otlp = false, ...options }) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      if (!otlp) throw invalidInput("export needs a format; add --otlp");
      const handle = await engine.run(run, { principal: person });
      const events: Event[] = [];
      for await (const { event } of handle.events()) events.push(event);
      invocation.terminal.printJson(otlpSpans(handle.run_id, events));
      return 0;
    }),
  );
}
