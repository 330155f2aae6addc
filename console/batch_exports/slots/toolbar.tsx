import { Button } from '@mantine/core';
import { memo } from 'react';
import { Instant } from '../../time/instant.tsx';
import { now } from '../../time/now.ts';
import type { Span } from './boundaries.ts';
import { isoInstant } from './slots.ts';
import { Lengths, lengths_of_time } from '../../time/lengths.tsx';
import { moved, zoomed } from './view.ts';

/** Buttons that move the view. */
export const Toolbar = memo(function Toolbar({
  view,
  setView,
  slot_ms,
}: {
  view: Span;
  setView: (view: Span) => void;
  slot_ms: number;
}) {
  const middle = (view.from + view.to) / 2;
  const zoom = (factor: number) => setView(zoomed(view, middle, factor, slot_ms));
  const show = ({ length_ms }: { length_ms: number }) => {
    const to = (Math.floor(now() / slot_ms) + 2) * slot_ms;
    setView(zoomed({ from: to - length_ms, to }, to, 1, slot_ms));
  };
  const buttons: [string, () => void, string?][] = [
    ['Earlier', () => setView(moved(view, -0.5))],
    ['Later', () => setView(moved(view, 0.5))],
    ['+', () => zoom(0.5), 'Zoom in'],
    ['−', () => zoom(2), 'Zoom out'],
  ];
  const lengths = lengths_of_time.filter(
    ({ length_ms }) => length_ms >= 8 * slot_ms && length_ms <= 200_000 * slot_ms,
  );
  return (
    <div className="toolbar" role="group" aria-label="What is shown">
      <span className="shown">
        <Instant at={isoInstant(view.from)} is_exact /> to{' '}
        <Instant at={isoInstant(view.to)} is_exact />
      </span>
      {[buttons.slice(0, 2), buttons.slice(2)].map((group) => (
        <div key={group[0]![0]} className="segments">
          {group.map(([text, press, label]) => (
            <Button key={text} size="compact-sm" aria-label={label} onClick={press}>
              {text}
            </Button>
          ))}
        </div>
      ))}
      <Lengths lengths={lengths} shown_ms={view.to - view.from} choose={show} />
    </div>
  );
});
