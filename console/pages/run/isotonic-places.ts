/**
 * Returns the places that never decrease and are nearest to the wanted ones (least squares). Neighbours that would
 * overlap share their mean, so the cost grows linearly.
 */
export function isotonicPlaces(wanted: Float64Array): Float64Array {
  const means = new Float64Array(wanted.length);
  const sizes = new Int32Array(wanted.length);
  let blocks = 0;
  for (const value of wanted) {
    let mean = value;
    let size = 1;
    while (blocks > 0 && (means[blocks - 1] as number) > mean) {
      blocks -= 1;
      const merged = size + (sizes[blocks] as number);
      mean = (mean * size + (means[blocks] as number) * (sizes[blocks] as number)) / merged;
      size = merged;
    }
    means[blocks] = mean;
    sizes[blocks] = size;
    blocks += 1;
  }
  const places = new Float64Array(wanted.length);
  let at = 0;
  for (let block = 0; block < blocks; block += 1)
    for (let left = sizes[block] as number; left > 0; left -= 1) {
      places[at] = means[block] as number;
      at += 1;
    }
  return places;
}
