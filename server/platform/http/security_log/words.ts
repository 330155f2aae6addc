/**
 * The events of the security log by their word: `said` is the sentence of its line, `concerns`
 * selects the lists. `homes`: the person and all their organizations; `place`: the person and the
 * requested organization; `nobody`: only the server's log. docs/security_log.md explains each word,
 * with its reasons.
 */
export const security_words = {
  sign_in_failed: { said: 'a sign-in was refused', level: 'warn', concerns: 'homes' },
  confirmation_failed: {
    said: 'a password, code or passkey that confirms a change was wrong',
    level: 'warn',
    concerns: 'homes',
  },
  locked_out: { said: 'a try has to wait after too many', level: 'warn', concerns: 'homes' },
  key_refused: { said: 'an API key was refused', level: 'warn', concerns: 'homes' },
  session_refused: { said: 'a session was refused', level: 'warn', concerns: 'place' },
  session_token_reused: {
    said: 'a session was shown with a token that had been replaced; it was ended',
    level: 'warn',
    concerns: 'homes',
  },
  right_refused: {
    said: 'a request was refused because a right is missing',
    level: 'warn',
    concerns: 'place',
  },
  cross_site_refused: {
    said: 'a change from a page of another site was refused',
    level: 'warn',
    concerns: 'nobody',
  },
  single_sign_on_refused: {
    said: 'a single sign-on was refused',
    level: 'warn',
    concerns: 'place',
  },
  scim_token_refused: {
    said: 'a token of a directory was refused',
    level: 'warn',
    concerns: 'place',
  },
  new_device: { said: 'a person signed in from a new device', level: 'warn', concerns: 'homes' },
  signed_in: { said: 'a person signed in', level: 'info', concerns: 'nobody' },
} as const satisfies Record<
  string,
  { said: string; level: 'warn' | 'info'; concerns: 'homes' | 'place' | 'nobody' }
>;

/** The word of an event. */
export type SecurityWord = keyof typeof security_words;

/**
 * An event and its reason, in a word each. `organization_id` is the affected organization if the
 * request does not name it; `more` is only for the line in the server's log.
 */
export type Refusal = {
  event: SecurityWord;
  reason: string;
  organization_id?: string | undefined;
  more?: Record<string, string>;
};

/** The words that lists show. */
export const kept_words = Object.entries(security_words).flatMap(([word, { concerns }]) =>
  concerns === 'nobody' ? [] : [word as SecurityWord],
);
