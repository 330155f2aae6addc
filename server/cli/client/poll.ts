import { setTimeout as delay } from 'node:timers/promises';
import { UnreachableError } from '../user_error.ts';

const pause_ms = 1_000;
/** Longest absence of a server, as during a change to another release. */
const away_ms_max = 60_000;

/**
 * Asks once a second until an answer is final, and gives that. `see` gets each answer. A server
 * that cannot be reached is asked on for a minute.
 */
export async function askUntil<Answer>(
  ask: () => Promise<Answer>,
  isFinal: (answer: Answer) => boolean,
  see: (answer: Answer) => void,
): Promise<Answer> {
  let away_since: number | undefined;
  for (;;) {
    try {
      const answer = await ask();
      away_since = undefined;
      see(answer);
      if (isFinal(answer)) return answer;
    } catch (error) {
      away_since ??= performance.now();
      const isAwayTooLong = performance.now() - away_since > away_ms_max;
      if (!(error instanceof UnreachableError) || isAwayTooLong) throw error;
    }
    await delay(pause_ms);
  }
}
