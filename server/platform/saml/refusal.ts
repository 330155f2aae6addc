/**
 * Why a response was refused, one word for each rule; docs/sign_in_refusals.md explains each. It is
 * never shown to the person who signs in: they get one neutral sentence, so that a forger learns
 * nothing.
 */
export type RefusalCode =
  | 'algorithm'
  | 'assertion_count'
  | 'audience'
  | 'authentication_statement'
  | 'conditions'
  | 'destination'
  | 'duplicate_id'
  | 'email_ambiguous'
  | 'email_domain'
  | 'email_invalid'
  | 'email_missing'
  | 'encrypted'
  | 'expired'
  | 'in_response_to'
  | 'issuer'
  | 'library'
  | 'markup'
  | 'not_a_response'
  | 'not_base64'
  | 'not_xml'
  | 'not_yet_valid'
  | 'recipient'
  | 'session_expired'
  | 'signature'
  | 'signature_form'
  | 'status'
  | 'subject'
  | 'time_format'
  | 'too_large'
  | 'unsigned';

/**
 * A refused response: the code of the rule, and a sentence for an administrator's log. Contains at
 * most short printable pieces of the response.
 */
export type Refusal = { refused: RefusalCode; detail: string };

/** Carries a refusal up to `refusalOf`, which converts it to a value; never leaves this folder. */
class ResponseRefused extends Error {
  readonly code: RefusalCode;
  constructor(code: RefusalCode, detail: string) {
    super(detail);
    this.name = 'ResponseRefused';
    this.code = code;
  }
}

const piece_characters_max = 120;

/** Throws the refusal. */
export function refuse(code: RefusalCode, detail: string): never {
  throw new ResponseRefused(code, detail);
}

/** Returns the refusal of a caught error as a value. Rethrows other errors: bugs of ours. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof ResponseRefused) return { refused: error.code, detail: error.message };
  throw error;
}

/**
 * Returns a piece of foreign text in quotes, safe for a log line: printable ASCII only, everything
 * else as `?`, at most 120 characters.
 */
export function quoted(text: string): string {
  const clean = text
    .slice(0, piece_characters_max)
    .replaceAll(/[^\u0020-\u007e]/g, '?')
    .replaceAll('"', "'");
  return `"${clean}${text.length > piece_characters_max ? '...' : ''}"`;
}
