import type { SecurityEventRow } from '../../server/api/security_events/schema.ts';

/** The console's sentences for events, by their word. */
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
  right_refused: 'Refused request',
  single_sign_on_refused: 'Refused single sign-on',
  scim_token_refused: 'Refused directory token',
  new_device: 'New device',
};

/** Returns the words for an event; the API's word if there are none. */
function eventWords(event: string): string {
  return (event_words as Record<string, string | undefined>)[event] ?? event;
}

/** The words for reasons that name a rule. */
const reason_words: Record<string, string> = {
  scope: 'the key lacks a scope',
  level: 'the level in the organization is too low',
  rule: 'a rule forbids it',
  ip_range: 'the key does not work from this address',
  needs_session: 'no key may do this',
  old_session: 'too long after the sign-in',
  second_factor_required: 'the organization requires a second factor',
  sso_enforced: 'the organization requires single sign-on',
};

/** Returns the console's sentence for an event. */
export function sentenceOf({ event, reason }: Pick<SecurityEventRow, 'event' | 'reason'>): string {
  // Ordinary before a grave change, so it must not read like an attack.
  if (event === 'right_refused' && reason === 'own_factor_required')
    return 'Asked for a confirmation before a change';
  return `${eventWords(event)}: ${reason_words[reason] ?? reason.replaceAll('_', ' ')}`;
}
