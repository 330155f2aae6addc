import type { SecurityEventRow } from '../../server/api/security_events/schema.ts';

/** The sentences of events in the console, by their word. */
export const event_words: Record<
  Exclude<SecurityEventRow['event'], 'signed_in' | 'cross_site_refused'>,
  string
> = {
  sign_in_failed: 'Failed sign-in',
  confirmation_failed: 'Failed confirmation',
  locked_out: 'Too many tries',
  key_refused: 'Refused API key',
  session_refused: 'Refused session',
  session_token_reused: 'Session shown twice',
  right_refused: 'Refused right',
  single_sign_on_refused: 'Refused single sign-on',
  scim_token_refused: 'Refused directory token',
  new_device: 'New device',
};

/** The words for it; those of the API where there are no others. */
export function eventWords(event: string): string {
  return (event_words as Record<string, string | undefined>)[event] ?? event;
}

/** Why, as words: `wrong_password` is "wrong password". */
export function reasonWords(reason: string): string {
  return reason.replaceAll('_', ' ');
}
