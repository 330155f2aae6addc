import { useEffect, useState } from 'react';

/**
 * Counts how often a form was begun again, for its key. The focus is in its first field then: the
 * button that was pressed is gone with what was typed.
 */
export function useTurn(): { turn: number; next: () => void } {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (turn > 0) document.getElementsByName('name')[0]?.focus();
  }, [turn]);
  return { turn, next: () => setTurn((before) => before + 1) };
}
