import type { Round } from "../measurement.ts";
import { heading, type Report, resultsOf, rounded } from "../report.ts";
import { median } from "../samples.ts";
import { table } from "../table.ts";
import type { LineUp } from "./measurements.ts";

type Absent = LineUp["absent"];

/** The shape of every other result: theirs is the value, ours the limit. */
export function peersAsJson(report: Report, absent: Absent): string {
  const { machine, date } = report;
  return JSON.stringify({ machine, date, results: resultsOf(report), absent });
}

export function peersAsText(report: Report, absent: Absent): string {
  const figures = table(
    ["", "they", "Writ", "Writ ÷ they", "lowest–highest", "rounds"],
    report.measured.map(({ measurement: { id, unit }, rounds }) => {
      const middle = (of: keyof Round) => median(rounds.map((round) => round[of]));
      const times = rounds.map(({ ratio }) => 1 / ratio);
      return [
        `\`${id}\``,
        `${rounded(middle("value"))} ${unit}`,
        `${rounded(middle("limit"))}`,
        median(times).toFixed(1),
        `${Math.min(...times).toFixed(1)}–${Math.max(...times).toFixed(1)}`,
        `${rounds.length}`,
      ];
    }),
  );
  const meanings = table(
    ["", "what they do", "beside"],
    report.measured.map(({ measurement: { id, about, beside } }) => [`\`${id}\``, about, beside]),
  );
  const compared = report.measured.length > 0 ? [figures, meanings] : [];
  const skipped = absent.map(({ id, why }) => `\`${id}\` ${why}: skipped.`);
  return [heading(report), ...compared, ...skipped].join("\n\n");
}
