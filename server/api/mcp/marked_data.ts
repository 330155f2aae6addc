/** Most characters of an untrusted text, unless a tool sets another limit. */
const text_characters_max = 1_000;
/** Most characters of a tool's answer; longer lists are cut. */
const answer_characters_max = 40_000;

/**
 * A text from outside (names, faults, log lines, values of events). Answers contain it as an object
 * `{untrusted_text}`, never as a plain text. `characters` is its original length, if it was cut.
 */
export class UntrustedText {
  readonly text: string;
  readonly characters: number;
  constructor(text: string, characters_max = text_characters_max) {
    this.text = visible(text.slice(0, characters_max).toWellFormed());
    this.characters = text.length > characters_max ? text.length : 0;
  }
  toJSON(): { untrusted_text: string; characters?: number } {
    return this.characters === 0
      ? { untrusted_text: this.text }
      : { untrusted_text: this.text, characters: this.characters };
  }
}

/** A sentence made only of this server's words. */
export class OwnSentence {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toJSON(): string {
    return this.text;
  }
}

/** Returns any JSON value as one untrusted text; null stays null. */
export function untrusted(value: unknown, characters_max?: number): UntrustedText | null {
  if (value === null || value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return new UntrustedText(text, characters_max);
}

/**
 * Invisible characters that a model would read: control and format characters, tags, private ones.
 * They are escaped, so that a person sees the whole text.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u{FE00}-\u{FE0F}\u{E0100}-\u{E01EF}]/gu;

function visible(text: string): string {
  return text.replaceAll(invisible, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** Fields whose texts are words from the server's closed lists. */
const word_fields = new Set([
  'action',
  'activity',
  'by',
  'code',
  'destination_type',
  'error_code',
  'kind',
  'level',
  'mode',
  'model',
  'reason',
  'scope',
  'sections_left_out',
  'state',
  'status',
  'type',
]);
const word = /^[A-Za-z][A-Za-z0-9_]{0,39}$/;
/** Fields with an address from the server or a tool. */
const address_fields = new Set(['open', 'receipt']);
const address = /^https?:\/\/[A-Za-z0-9._~:/?&=%@[\]-]{1,500}$/;
const cursor = /^[A-Za-z0-9_=+/.-]{1,500}$/;
/** Values that cannot be a sentence: ids, instants, digests, intervals. */
const harmless =
  /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z|[0-9a-f]{64}|\d{1,10}|[a-z_]{1,40}:(?:read|write)|\*|every \d{1,2} minutes|hour|day|week)$/;
const field_name = /^[a-z][a-z0-9_]{0,40}$/;

/**
 * Returns the value with every text from outside as an `UntrustedText`. A text is untrusted by
 * default; only known texts of the server stay plain.
 */
function marked(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return isOurs(value, name) ? value : new UntrustedText(value);
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof UntrustedText || value instanceof OwnSentence) return value;
  if (Array.isArray(value)) return value.map((entry) => marked(entry, name));
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  // Field names from outside are texts too.
  if (!entries.every(([field]) => field_name.test(field))) return untrusted(value);
  return Object.fromEntries(entries.map(([field, inner]) => [field, marked(inner, field)]));
}

function isOurs(text: string, name: string): boolean {
  return (
    harmless.test(text) ||
    (word_fields.has(name) && word.test(text)) ||
    (address_fields.has(name) && address.test(text)) ||
    (name === 'next_cursor' && cursor.test(text))
  );
}

/**
 * Returns the answer as plain JSON of at most 40,000 characters. It cuts a long list at its end,
 * and `left_out` has the number of missing entries.
 */
export function fitted(answer: Record<string, unknown>): Record<string, unknown> {
  const plain = JSON.parse(JSON.stringify(marked(answer))) as Record<string, unknown>;
  let left_out = 0;
  while (JSON.stringify(plain).length > answer_characters_max) {
    const longest = Object.values(plain)
      .filter((entry) => Array.isArray(entry) && entry.length > 0)
      .toSorted((one, other) => JSON.stringify(other).length - JSON.stringify(one).length)[0];
    if (longest === undefined) return { left_out: 'all', ...cutWhole(plain) };
    const list = longest as unknown[];
    left_out += list.splice(Math.floor(list.length * 0.75)).length;
  }
  return left_out === 0 ? plain : { ...plain, left_out };
}

/** Cuts a record that no shorter list makes small enough, as one text. */
function cutWhole(plain: Record<string, unknown>): Record<string, unknown> {
  return { result: untrusted(plain, answer_characters_max / 2)!.toJSON() };
}
