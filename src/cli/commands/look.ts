import { Command, Option } from "commander";
import type { RecordedEvent } from "../../engine/api.ts";
import { eventLine } from "../event-text.ts";
import { example, type Invocation, positiveNumber, wholeNumber } from "../invocation.ts";
import { type Line, line, tableLines } from "../line.ts";
import { opened } from "../opening.ts";
import { resultLines, stateText, timeText } from "../result-text.ts";
import type { Paint } from "../terminal.ts";

const looking = { work: "no", needs: "store" } as const;

export function showCommand(invocation: Invocation): Command {
  const command = new Command("show")
    .description("show where a run stands and what can be done now")
    .argument("<run>", "the id of the run; see: writ runs")
    .addHelpText("after", example("writ show run_01k2…", "writ show run_01k2… --json"));
  return invocation.does(command, ([run = ""], options) =>
    opened(invocation, options, looking, async ({ engine, person, isExecuted, commandLine }) => {
      const standing = await (await engine.run(run, { principal: person })).now();
      const now = { ...standing, executing: isExecuted() };
      invocation.terminal.answer(now, () => resultLines(now, commandLine, invocation.terminal.paint));
      return 0;
    }),
  );
}

const statuses = ["running", "waiting", "poison", "completed", "partial", "failed", "cancelled"];

export function runsCommand(invocation: Invocation): Command {
  const command = new Command("runs")
    .description("list the runs, newest first")
    .addOption(new Option("--status <status>", "only runs in this state").choices(statuses))
    .option("--limit <n>", "at most so many", positiveNumber, 50)
    .addHelpText("after", example("writ runs", "writ runs --status waiting --limit 10"));
  return invocation.does<{ readonly status?: string; readonly limit: number }>(command, (_, options) =>
    opened(invocation, options, looking, async ({ engine, person }) => {
      const { status, limit } = options;
      const runs = await engine.runs({ principal: person, limit, ...(status !== undefined && { status }) });
      invocation.terminal.answer({ runs }, () => {
        if (runs.length === 0) return [line`no runs in tenant ${person.tenant}`];
        const { paint } = invocation.terminal;
        return tableLines(
          runs.map((run) => [
            line`${run.run_id}`,
            stateText(run.status, paint),
            line`${timeText(run.accepted_at)}`,
            line`${run.principal}`,
            line`${run.plan_id ?? ""}`,
          ]),
        );
      });
      return 0;
    }),
  );
}

interface EventsOptions {
  readonly follow?: boolean;
  readonly after: number;
}

export function eventsCommand(invocation: Invocation): Command {
  const command = new Command("events")
    .description("print the journal of a run; with --follow, what is still to come, until it has ended")
    .argument("<run>", "the id of the run; see: writ runs")
    .option("--follow", "go on printing; with --json one document per line")
    .option("--after <position>", "only events after this one", wholeNumber, 0)
    .addHelpText("after", example("writ events run_01k2…", "writ events run_01k2… --follow --after 7"));
  return invocation.does<EventsOptions>(command, ([run = ""], { follow = false, after, ...options }) =>
    opened(invocation, options, looking, async ({ engine, person }) => {
      const { terminal, host } = invocation;
      const stop = new AbortController();
      const unheed = host.onInterrupt(() => stop.abort());
      const handle = await engine.run(run, { principal: person });
      const listed: RecordedEvent[] = [];
      const more = follow && !(await handle.now()).final;
      for await (const recorded of handle.events({ after, follow: more, signal: stop.signal })) {
        if (!terminal.json) terminal.say(recordedLine(recorded, terminal.paint));
        else if (follow) terminal.document(recorded);
        else listed.push(recorded);
      }
      unheed();
      if (!follow) terminal.answer({ events: listed }, () => []);
      return 0;
    }),
  );
}

function recordedLine({ position, event }: RecordedEvent, paint: Paint): Line {
  const place = line`${String(position).padStart(4)}  ${timeText(event.at)}`.painted(paint.dim);
  return line`${place}  ${eventLine(event, paint)}`;
}
