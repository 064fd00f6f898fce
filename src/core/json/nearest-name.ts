const distanceMax = 2;
const lengthMax = 64;

/**
 * Returns the candidate closest to the word: the one with the fewest other letters, or else the only one that has the
 * word as a part, as `step_id` has `id`. Null: none is close.
 */
export function nearestName(word: string, candidates: Iterable<string>): string | null {
  if (word.length > lengthMax) return null;
  let best: string | null = null;
  let least = distanceMax + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > distanceMax) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < least && distance < candidate.length) {
      least = distance;
      best = candidate;
    }
  }
  return best ?? soleCandidateWith(word.toLowerCase(), candidates);
}

function soleCandidateWith(word: string, candidates: Iterable<string>): string | null {
  const found = Array.from(candidates).filter((candidate) =>
    candidate.split(/[_.]|(?=[A-Z])/).some((part) => part.toLowerCase() === word),
  );
  return found.length === 1 ? (found[0] as string) : null;
}

/** The Levenshtein distance: the number of letters to add, remove or change. */
function editDistance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const changed = cell(above, column - 1) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(changed, cell(above, column) + 1, cell(current, column - 1) + 1));
    }
    above = current;
  }
  return cell(above, right.length);
}

function cell(row: readonly number[], column: number): number {
  return row[column] as number;
}
