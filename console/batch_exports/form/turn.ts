import { useEffect, useState } from 'react';

/**
 * Counts how often a form was restarted, for its React key. The focus then moves to its first
 * field, because the pressed button has gone.
 */
export function useTurn(): { turn: number; next: () => void } {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (turn > 0) document.getElementsByName('name')[0]?.focus();
  }, [turn]);
  return { turn, next: () => setTurn((before) => before + 1) };
}
