/** Returns the lines of two texts, with `-`, `+` or a space in front of each. */
export function lineDiff(before, after) {
  const [old, now] = [linesOf(before), linesOf(after)];
  const common = commonLengths(old, now);
  const lines = [];
  let [at, to] = [0, 0];
  while (at < old.length || to < now.length) {
    if (at < old.length && to < now.length && old[at] === now[to]) {
      lines.push(` ${old[at]}`);
      at += 1;
      to += 1;
    } else if (to === now.length || (at < old.length && common[at + 1][to] >= common[at][to + 1])) {
      lines.push(`-${old[at]}`);
      at += 1;
    } else {
      lines.push(`+${now[to]}`);
      to += 1;
    }
  }
  return lines.join("\n");
}

function linesOf(text) {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The number of common lines of the rests of both texts, by their beginnings. */
function commonLengths(old, now) {
  const lengths = Array.from({ length: old.length + 1 }, () => new Array(now.length + 1).fill(0));
  for (let at = old.length - 1; at >= 0; at -= 1)
    for (let to = now.length - 1; to >= 0; to -= 1)
      lengths[at][to] =
        old[at] === now[to] ? lengths[at + 1][to + 1] + 1 : Math.max(lengths[at + 1][to], lengths[at][to + 1]);
  return lengths;
}
