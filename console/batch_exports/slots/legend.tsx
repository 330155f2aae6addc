import { memo } from 'react';
import { countsOf } from './drawn.ts';
import type { Part } from './drawn.ts';
import { kind_names, kinds } from './kinds.ts';

/** Explains each colour, with the number of its visible slots. Kept while only the cursor moves. */
export const Legend = memo(function Legend({ parts }: { parts: Part[] }) {
  const counts = countsOf(parts);
  return (
    <ul className="legend" aria-label="Slots in view">
      {kind_names.map((name, kind) => {
        const count = counts.get(kind);
        const { label, sign } = kinds[name];
        return count === undefined ? undefined : (
          <li key={name}>
            <span className={`sign ${sign}`} aria-hidden />
            {label} <span className="muted">{count.toLocaleString('en')}</span>
          </li>
        );
      })}
    </ul>
  );
});
