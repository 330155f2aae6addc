import { setTimeout as delay } from 'node:timers/promises';
import { UnreachableError } from '../user_error.ts';

const pause_ms = 1_000;
/** Longest outage of a server, for example during an update. */
const away_ms_max = 60_000;

/**
 * Repeats a request once a second until an answer is final, and returns that answer. `see` gets
 * each answer. Keeps trying an unreachable server for a minute.
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
