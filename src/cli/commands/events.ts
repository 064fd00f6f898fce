import { Command } from "commander";
import type { RecordedEvent } from "../../engine/api/engine-api.ts";
import { eventLine } from "../event-text.ts";
import { helpExample, type Invocation, parseWholeNumber } from "../invocation.ts";
import { line, type SafeLine } from "../safe-line.ts";
import type { TextStyle } from "../text-style.ts";
import { preciseTimeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

interface EventsOptions {
  readonly follow?: boolean;
  readonly after: number;
}

export function eventsCommand(invocation: Invocation): Command {
  const command = new Command("events")
    .description("print the journal of a run; with --follow, also new events until the run has ended")
    .argument("<run>", "id of the run; see: writ runs")
    .option("--follow", "print new events as they are recorded; with --json one document per line")
    .option("--after <position>", "only events after this position", parseWholeNumber, 0)
    .addHelpText("after", helpExample("writ events run_01k2…", "writ events run_01k2… --follow --after 7"));
  return invocation.withAction<EventsOptions>(command, ([run = ""], { follow = false, after, ...options }) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const { terminal, host } = invocation;
      const interrupted = new AbortController();
      const removeListener = host.onInterrupt(() => interrupted.abort());
      const handle = await engine.run(run, { principal: person });
      const listed: RecordedEvent[] = [];
      const continues = follow && !(await handle.now()).final;
      for await (const recorded of handle.events({ after, follow: continues, signal: interrupted.signal })) {
        if (!terminal.json) terminal.print(recordedLine(recorded, terminal.style));
        else if (follow) terminal.printJson(recorded);
        else listed.push(recorded);
      }
      removeListener();
      if (!follow) terminal.printResult({ events: listed }, () => []);
      return 0;
    }),
  );
}

function recordedLine({ position, event }: RecordedEvent, style: TextStyle): SafeLine {
  const prefix = line`${String(position).padStart(4)}  ${preciseTimeText(event.at, style)}`.painted(style.dim);
  return line`${prefix}  ${eventLine(event, style)}`;
}
