import { memo } from 'react';
import { countsOf } from './drawn.ts';
import type { Part } from './drawn.ts';
import { kind_names, kinds } from './kinds.ts';
import { Sign } from './sign.tsx';

/**
 * Explains each colour and shape, with the number of its visible slots. Memoized, because the
 * cursor moves often.
 */
export const Legend = memo(function Legend({ parts }: { parts: Part[] }) {
  const counts = countsOf(parts);
  return (
    <ul className="legend" aria-label="Slots in view">
      {kind_names.map((name, kind) => {
        const count = counts.get(kind);
        return count === undefined || kinds[name].colour === '' ? undefined : (
          <li key={name}>
            <Sign kind={name} />
            {kinds[name].label} <span className="muted">{count.toLocaleString('en')}</span>
          </li>
        );
      })}
    </ul>
  );
});
