/** The first releases that keep the rows of an insert that is cut off during agreement. */
const fixed: [number, number, number, number][] = [
  [26, 3, 33, 61],
  [26, 6, 5, 114],
  [26, 7, 7, 87],
  [26, 8, 3, 98],
];

/**
 * Returns true if a server of this version keeps an interrupted insert either completely or not at
 * all (ClickHouse#112149), and false for an unreadable version.
 */
export function isCancelSafe(version: string): boolean {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) return false;
  const same = fixed.find(([year, month]) => year === parts[0] && month === parts[1]);
  return compare(parts, same ?? fixed.at(-1)!) >= 0;
}

/**
 * Returns a warning for operators whose replicas run these versions, or undefined if all of them
 * handle interrupted inserts safely.
 */
export function versionWarning(versions: readonly string[]): string | undefined {
  const unsafe = [...new Set(versions)].filter((version) => !isCancelSafe(version)).sort();
  if (unsafe.length === 0) return undefined;
  const good = fixed.map((version) => version.join('.')).join(', ');
  return (
    `${unsafe.join(' and ')} may drop the rows of an interrupted insert but keep its token ` +
    '(ClickHouse#112149). Sluice interrupts no insert, and checks for the rows after each ' +
    'failure. But if a proxy in between repeats an insert, the store answers the ' +
    `repetition like a stored insert, and its events are lost. Update to ${good} or later ` +
    'of the same release line, and let no proxy repeat a POST.'
  );
}

function compare(one: number[], other: number[]): number {
  for (const [index, part] of one.entries())
    if (part !== other[index]) return part - (other[index] ?? 0);
  return 0;
}
