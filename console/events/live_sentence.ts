/** The state of a live list, which changes only by a person's actions. */
export type LiveState = { is_paused: boolean; is_filtered: boolean; is_empty: boolean };

/** Describes a live list. */
export function liveSentence({ is_paused, is_filtered, is_empty }: LiveState): string {
  if (is_paused) return 'Paused: new events do not appear.';
  if (is_filtered && is_empty) return 'No recent event matches. New ones appear as they arrive.';
  return is_filtered
    ? 'The newest matching events appear as they arrive.'
    : 'The newest events appear as they arrive.';
}
