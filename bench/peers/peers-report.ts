import { type BenchReport, benchHeading, benchResults, roundForPrint } from "../bench-report.ts";
import { markdownTable } from "../markdown-table.ts";
import type { MeasurementRound } from "../measurement.ts";
import { median } from "../samples.ts";
import type { PeerMeasurements } from "./peer-measurements.ts";

type AbsentPeers = PeerMeasurements["absent"];

/** Returns the results in the usual shape: the peer is the value, Writ the limit. */
export function peersReportJson(report: BenchReport, absent: AbsentPeers): string {
  const { machine, date } = report;
  return JSON.stringify({ machine, date, results: benchResults(report), factors: peerFactors(report), absent });
}

/** The factors of Writ against all peers of a workload: the median of them, and the one against the fastest peer. */
function peerFactors({ measured }: BenchReport): readonly PeerFactor[] {
  return ["W1", "W2"].flatMap((workload) => {
    const factors = measured
      .filter(({ measurement: { id } }) => id.includes(`.${workload}.`))
      .map(({ rounds }) => median(rounds.map(({ ratio }) => 1 / ratio)));
    if (factors.length === 0) return [];
    return [{ workload, peers: factors.length, median: median(factors), fastest: Math.min(...factors) }];
  });
}

interface PeerFactor {
  readonly workload: string;
  /** The number of peers. */
  readonly peers: number;
  readonly median: number;
  readonly fastest: number;
}

function factorTable(report: BenchReport): string {
  const rows = peerFactors(report).flatMap(({ workload, peers, median: middle, fastest }) => [
    [`\`peers.median.${workload}\``, `${middle.toFixed(1)} ×`, "≥ 4.0 ×", `${peers}`],
    [`\`peers.fastest.${workload}\``, `${fastest.toFixed(1)} ×`, "≥ 2.0 ×", `${peers}`],
  ]);
  return markdownTable(["Writ ÷ they", "factor", "goal", "peers"], rows);
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
  const compared = report.measured.length > 0 ? [figures, factorTable(report), meanings] : [];
  const skipped = absent.map(({ id, why }) => `\`${id}\` ${why}: skipped.`);
  return [benchHeading(report), ...compared, ...skipped].join("\n\n");
}
