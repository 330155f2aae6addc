import { barsOf } from './bars.ts';

const size = { width: 120, height: 24 };

/** The events of the latest days, one bar a day. */
export function Bars({ by_day }: { by_day: number[] }) {
  const { path, label } = barsOf(by_day, size);
  return (
    <svg
      className="bars"
      {...size}
      viewBox={`0 0 ${size.width} ${size.height}`}
      role="img"
      aria-label={label}
    >
      <path d={path} />
    </svg>
  );
}
