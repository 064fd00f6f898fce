import { type BenchReport, benchHeading, benchResults, roundForPrint } from "../bench-report.ts";
import { markdownTable } from "../markdown-table.ts";
import type { MeasurementRound } from "../measurement.ts";
import { median } from "../samples.ts";
import type { PeerMeasurements } from "./peer-measurements.ts";

type AbsentPeers = PeerMeasurements["absent"];

/** Returns the results in the usual shape: the peer is the value, Writ the limit. */
export function peersReportJson(report: BenchReport, absent: AbsentPeers): string {
  const { machine, date } = report;
  return JSON.stringify({ machine, date, results: benchResults(report), absent });
}

export function peersReportText(report: BenchReport, absent: AbsentPeers): string {
  const figures = markdownTable(
    ["", "they", "Writ", "Writ ÷ they", "lowest–highest", "rounds"],
    report.measured.map(({ measurement: { id, unit }, rounds }) => {
      const middle = (of: Exclude<keyof MeasurementRound, "log">) => median(rounds.map((round) => round[of]));
      const times = rounds.map(({ ratio }) => 1 / ratio);
      return [
        `\`${id}\``,
        `${roundForPrint(middle("value"))} ${unit}`,
        `${roundForPrint(middle("limit"))}`,
        median(times).toFixed(1),
        `${Math.min(...times).toFixed(1)}–${Math.max(...times).toFixed(1)}`,
        `${rounds.length}`,
      ];
    }),
  );
  const meanings = markdownTable(
    ["", "what they do", "beside"],
    report.measured.map(({ measurement: { id, about, limitAbout } }) => [`\`${id}\``, about, limitAbout]),
  );
  const compared = report.measured.length > 0 ? [figures, meanings] : [];
  const skipped = absent.map(({ id, why }) => `\`${id}\` ${why}: skipped.`);
  return [benchHeading(report), ...compared, ...skipped].join("\n\n");
}
