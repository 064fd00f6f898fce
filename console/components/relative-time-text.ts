const units = [
  { name: "d", ms: 24 * 60 * 60_000 },
  { name: "h", ms: 60 * 60_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** Returns a length of time: `12 ms`, `1.4 s`, and longer ones with their two largest units, such as `2 h 5 min`. */
export function durationText(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9950) return `${Number((ms / 1000).toFixed(1))} s`;
  const at = units.findIndex((unit) => ms >= unit.ms);
  const unit = units[at] ?? units[3];
  const count = Math.floor(ms / unit.ms);
  const next = units[at + 1];
  const rest = next === undefined ? 0 : Math.floor((ms - count * unit.ms) / next.ms);
  const isShort = next === undefined || rest === 0 || count >= 10;
  return isShort ? `${count} ${unit.name}` : `${count} ${unit.name} ${rest} ${next.name}`;
}

/** Returns a time relative to now, such as `5 min ago` or `in 2 h`. */
export function relativeTimeText(at: number, now: number): string {
  const apart = Math.abs(now - at);
  if (apart < 5000) return "now";
  const unit = units.find(({ ms }) => apart >= ms) ?? units[3];
  const text = `${Math.floor(apart / unit.ms)} ${unit.name}`;
  return at > now ? `in ${text}` : `${text} ago`;
}
