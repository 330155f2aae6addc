import { Button } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { memo, useContext } from 'react';
import { by_dates } from '../backfills/by_dates.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { now } from '../../time/now.ts';
import { exactly } from '../../time/words.ts';
import type { Span } from './boundaries.ts';
import { isoInstant } from './slots.ts';
import { moved, zoomed } from './view.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/');
const day_ms = 86_400_000;
const spans = [
  { label: 'Hour', length: day_ms / 24 },
  { label: 'Day', length: day_ms },
  { label: 'Week', length: 7 * day_ms },
  { label: 'Month', length: 30 * day_ms },
  { label: 'Year', length: 365 * day_ms },
];

/** Moves the view by pressing, and begins a backfill by dates. */
export const Toolbar = memo(function Toolbar({
  view,
  setView,
  slot_ms,
}: {
  view: Span;
  setView: (view: Span) => void;
  slot_ms: number;
}) {
  const zone = useContext(ZoneContext);
  const navigate = route.useNavigate();
  const backfill = () =>
    void navigate({
      search: (before) => ({ ...before, backfill: by_dates }),
      replace: true,
      resetScroll: false,
    });
  const middle = (view.from + view.to) / 2;
  const zoom = (factor: number) => setView(zoomed(view, middle, factor, slot_ms));
  const show = (length: number) => {
    const to = (Math.floor(now() / slot_ms) + 2) * slot_ms;
    setView(zoomed({ from: to - length, to }, to, 1, slot_ms));
  };
  const buttons: [string, () => void, string?][] = [
    ['Earlier', () => setView(moved(view, -0.5))],
    ['Later', () => setView(moved(view, 0.5))],
    ['+', () => zoom(0.5), 'Zoom in'],
    ['−', () => zoom(2), 'Zoom out'],
    ...spans
      .filter(({ length }) => length >= 8 * slot_ms && length <= 200_000 * slot_ms)
      .map(({ label, length }): [string, () => void] => [label, () => show(length)]),
  ];
  return (
    <div className="toolbar" role="group" aria-label="What is shown">
      {buttons.map(([text, press, label]) => (
        <Button key={text} size="compact-sm" variant="default" aria-label={label} onClick={press}>
          {text}
        </Button>
      ))}
      <Button size="compact-sm" variant="default" onClick={backfill}>
        Backfill…
      </Button>
      <span className="muted">
        {exactly(isoInstant(view.from), zone)} to {exactly(isoInstant(view.to), zone)}
      </span>
    </div>
  );
});
