/** The state of a live list, which changes by what a person does and not by what arrives. */
export type LiveState = { is_paused: boolean; is_filtered: boolean; is_empty: boolean };

/** Says what a live list shows. */
export function liveSentence({ is_paused, is_filtered, is_empty }: LiveState): string {
  if (is_paused) return 'Paused: new events do not appear.';
  if (is_filtered && is_empty)
    return 'None of the newest events fits. New ones appear as they come.';
  return is_filtered
    ? 'The newest events that fit appear as they come.'
    : 'The newest events appear as they come.';
}
