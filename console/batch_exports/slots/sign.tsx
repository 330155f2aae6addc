import { kinds } from './kinds.ts';
import type { KindName } from './kinds.ts';
import { mark_path } from './tiles.ts';

/** The sign of a kind of slot: colour, lines and mark of the map in a tile. */
export function Sign({ kind }: { kind: KindName }) {
  const { colour, lines, ink, is_marked } = kinds[kind];
  return (
    <svg className="sign" viewBox="0 0 8 8" width="14" height="14" aria-hidden>
      <rect width="8" height="8" fill={`var(${colour})`} />
      {lines !== '' && <path d={lines} stroke={`var(${ink})`} fill="none" strokeLinecap="round" />}
      {is_marked && <path d={mark_path} fill="var(--map-mark)" />}
    </svg>
  );
}
