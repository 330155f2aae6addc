/** The first releases that keep the rows of an insert which is cut off while it is agreed upon. */
const fixed: [number, number, number, number][] = [
  [26, 3, 33, 61],
  [26, 6, 5, 114],
  [26, 7, 7, 87],
  [26, 8, 3, 98],
];

/**
 * Whether a server of this version keeps an insert that is cut off whole or not at all
 * (ClickHouse#112149); of a version that cannot be read false.
 */
export function isCancelSafe(version: string): boolean {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) return false;
  const same = fixed.find(([year, month]) => year === parts[0] && month === parts[1]);
  return compare(parts, same ?? fixed.at(-1)!) >= 0;
}

function compare(one: number[], other: number[]): number {
  for (const [index, part] of one.entries())
    if (part !== other[index]) return part - (other[index] ?? 0);
  return 0;
}
