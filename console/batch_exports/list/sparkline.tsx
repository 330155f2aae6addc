import { counted } from '../../page/text/quantities.ts';
const [width, height] = [96, 22];

/** The rows of the latest runs as a line; a single run has none. Has a text for screen readers. */
export function Sparkline({ records }: { records: number[] }) {
  if (records.length < 2) return undefined;
  const most = Math.max(1, ...records);
  const step = width / (records.length - 1);
  const points = records.map(
    (rows, at) =>
      `${(at * step).toFixed(1)} ${(height - 1 - (rows / most) * (height - 2)).toFixed(1)}`,
  );
  const latest = records.at(-1)!.toLocaleString('en');
  return (
    <svg
      className="sparkline"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={
        `Rows of the latest ${counted(records.length, 'run')}: ` +
        `at most ${most.toLocaleString('en')}, now ${latest}`
      }
    >
      <path d={`M${points.join('L')}`} />
    </svg>
  );
}
