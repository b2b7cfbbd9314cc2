// Where characters are: the server counts code points, a browser counts UTF-16 units.

/** How many numbers of a sorted array are less than a value. */
export function below(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

/** Both ways between code points and units of one text. */
export class Offsets {
  constructor(text) {
    const wide = [];
    for (let at = 0; at < text.length; at++) {
      if (text.codePointAt(at) > 0xffff) wide.push(at++ - wide.length);
    }
    this.wide = Int32Array.from(wide); // code-point offsets of the characters of two units
    this.starts = Int32Array.from(wide, (at, before) => at + before); // the same in units
    this.units = text.length;
    this.length = text.length - wide.length;
  }

  toUnits(points) { return points + below(this.wide, points); }

  /** A place between the two units of a character counts as the place before it. */
  toPoints(units) { return units - below(this.starts, units); }
}
