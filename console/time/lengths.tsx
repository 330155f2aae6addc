import { Button } from '@mantine/core';

const day_ms = 86_400_000;

/** Time ranges to choose from. */
export const lengths_of_time = [
  { label: 'Hour', length_ms: day_ms / 24 },
  { label: 'Day', length_ms: day_ms },
  { label: 'Week', length_ms: 7 * day_ms },
  { label: 'Month', length_ms: 30 * day_ms },
  { label: 'Year', length_ms: 365 * day_ms },
];

/** Joined buttons, one for each length; the current one is pressed. */
export function Lengths<One extends { label: string; length_ms: number }>({
  lengths,
  shown_ms,
  choose,
}: {
  lengths: readonly One[];
  shown_ms: number;
  choose: (length: One) => void;
}) {
  return (
    <div className="segments">
      {lengths.map((one) => (
        <Button
          key={one.label}
          size="compact-sm"
          aria-pressed={one.length_ms === shown_ms}
          onClick={() => choose(one)}
        >
          {one.label}
        </Button>
      ))}
    </div>
  );
}
