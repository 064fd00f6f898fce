import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { amountText } from "../../components/amount-text.ts";
import { axisTop, type NamedAmount, type SpendingUnit } from "./spending.ts";

const size = { width: 720, height: 200, left: 64, bottom: 22, top: 8 } as const;

const room = size.height - size.bottom - size.top;

/** Bars of the spending of each day. The table below the chart has the same numbers for readers that do not see it. */
export function DayChart({
  days,
  unit,
}: {
  readonly days: readonly NamedAmount[];
  readonly unit: SpendingUnit;
}): VNode {
  const [pointed, setPointed] = useState(-1);
  const top = axisTop(days);
  const shown = days[pointed];
  return (
    <figure class="day-chart">
      <figcaption class="small">
        {shown === undefined ? (
          <span class="soft">Spending per day (UTC)</span>
        ) : (
          <>
            {shown.name}: <strong>{amountText(unit, shown.amount)}</strong>
          </>
        )}
      </figcaption>
      <svg
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="img"
        aria-label="Spending per day"
        onMouseLeave={() => setPointed(-1)}
      >
        {[0, 0.5, 1].map((share) => (
          <AxisLine key={share} y={size.top + room * (1 - share)} text={axisText(unit, top * share)} />
        ))}
        {days.map((day, at) => (
          <DayBar
            key={day.name}
            day={day}
            at={at}
            count={days.length}
            top={top}
            isPointed={at === pointed}
            onPoint={() => setPointed(at)}
          />
        ))}
      </svg>
      <table class="unseen">
        <caption>Spending per day</caption>
        <tbody>
          {days.map(({ name, amount }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{amountText(unit, amount)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Returns a day such as `21 Oct`. */
function dayText(day: string): string {
  return dayFormat.format(new Date(day));
}

function axisText(unit: SpendingUnit, amount: number): string {
  return amount === 0 ? "0" : amountText(unit, amount).replace(/ .*/, "");
}

function AxisLine({ y, text }: { readonly y: number; readonly text: string }): VNode {
  return (
    <g class="axis">
      <line x1={size.left} x2={size.width} y1={y} y2={y} />
      <text x={size.left - 8} y={y + 4} text-anchor="end">
        {text}
      </text>
    </g>
  );
}

interface DayBarProps {
  readonly day: NamedAmount;
  readonly at: number;
  readonly count: number;
  readonly top: number;
  readonly isPointed: boolean;
  readonly onPoint: () => void;
}

/** Days below the chart: more would not fit. */
const namedDays = 8;

function DayBar({ day: { name, amount }, at, count, top, isPointed, onPoint }: DayBarProps): VNode {
  const step = (size.width - size.left) / count;
  const left = size.left + at * step;
  const height = amount === 0 ? 0 : Math.max(2, (room * amount) / top);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the table has the same numbers
    <g onMouseEnter={onPoint}>
      <rect class="bar-room" x={left} y={size.top} width={step} height={room} />
      <rect
        class={isPointed ? "bar bar-pointed" : "bar"}
        x={left + step * 0.14}
        y={size.top + room - height}
        width={step * 0.72}
        height={height}
        rx={Math.min(2, step / 6)}
      />
      {at % Math.ceil(count / namedDays) === 0 && (
        <text x={left + step / 2} y={size.height - 6} text-anchor="middle">
          {dayText(name)}
        </text>
      )}
    </g>
  );
}
