import { isObject } from '../../server/platform/http/openapi/json.ts';
import type { Json, JsonObject } from '../../server/platform/http/openapi/json.ts';
import type { Example } from '../../server/platform/http/openapi/reference.ts';
import type { Recorded } from './recorder.ts';

/** The instant of all events in a story. */
const told_ms = Date.parse('2026-03-02T09:00:00Z');
const day_ms = 86_400_000;
/** Most objects, and most other values, in a list of an answer. */
const objects_max = 1;
const values_max = 12;
const characters_max = 200;
/** Most characters of an answer; a longer one loses its inner objects. */
const answer_characters_max = 12_000;

/**
 * Texts by the name of their field, which a stranger might use if they took the examples for real.
 */
const shown_instead: Record<string, string> = {
  password: 'correct horse battery staple',
  current_password: 'correct horse battery staple',
  new_password: 'another horse battery staple',
  code: '123456',
  token: '...',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  totp_secret: 'JBSWY3DPEHPK3PXP',
};

/**
 * Returns the examples in their stored form: with ids and instants that are the same each time,
 * without credentials, and with long lists and texts shortened.
 */
export function stableExamples(recorded: Recorded, began_ms: number): Record<string, Example> {
  const sorted = [...recorded].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const plain = Object.fromEntries(
    sorted.map(([id, { answer, ...request }]) => [
      id,
      {
        ...(shortened(request, false) as JsonObject),
        ...(answer === undefined ? {} : { answer: withoutDepths(shortened(answer, true)) }),
      },
    ]),
  );
  return JSON.parse(withStableTexts(JSON.stringify(plain), began_ms)) as Record<string, Example>;
}

function shortened(value: Json, is_answer: boolean, name = ''): Json {
  if (typeof value === 'string') return shortText(value, name, is_answer);
  if (Array.isArray(value)) {
    const isOfObjects = value.some((one) => typeof one === 'object' && one !== null);
    const most = isOfObjects ? objects_max : values_max;
    return value
      .slice(0, is_answer ? most : undefined)
      .map((one) => shortened(one, is_answer, name));
  }
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, shortened(one, is_answer, key)]),
  );
}

/** Returns the answer without its deep parts if it is long. */
function withoutDepths(answer: Json, depth = 0): Json {
  if (depth === 0 && JSON.stringify(answer).length <= answer_characters_max) return answer;
  if (!isObject(answer)) return answer;
  if (depth === 4) return {};
  return Object.fromEntries(
    Object.entries(answer).map(([name, one]) => [name, withoutDepths(one, depth + 1)]),
  );
}

function shortText(text: string, name: string, is_answer: boolean): string {
  const instead = shown_instead[name];
  if (instead !== undefined && (!is_answer || name === 'token')) return instead;
  if (name === 'recovery_codes') return '0000-0000-0000';
  if (name === 'secret' && /^[A-Z2-7]{16,}$/.test(text)) return shown_instead['totp_secret']!;
  return is_answer && text.length > characters_max && !text.startsWith('http')
    ? `${text.slice(0, characters_max)}...`
    : text;
}

function withStableTexts(text: string, began_ms: number): string {
  const ids = new Map<string, string>();
  const idOf = (id: string) => {
    const known =
      ids.get(id) ?? `01995c1e-0000-7000-8000-${(ids.size + 1).toString(16).padStart(12, '0')}`;
    ids.set(id, known);
    return known;
  };
  return withStableInstants(text, began_ms)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, idOf)
    .replaceAll(/\bslc_[\w.-]{20,}/g, 'slc_...')
    .replaceAll(/\b(sl[a-z]_)[0-9A-Za-z]{20,}/g, '$1...')
    .replaceAll(/\b(sl[ka]_)\.\.\.[0-9A-Za-z]{4}/g, '$1...abcd')
    .replaceAll(/([?&](?:token|code)=)[\w-]{16,}/g, '$1...')
    .replaceAll(/whsec_[A-Za-z0-9+/=]+/g, 'whsec_...')
    .replaceAll('lightMyRequest', 'curl/8.14.1')
    .replaceAll('"127.0.0.1"', '"203.0.113.7"')
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):\d+/g, 'https://hooks.example.com');
}

/**
 * Instants of the story follow each other by a second in the order of their occurrence; others near
 * it keep their distance in whole days.
 */
function withStableInstants(text: string, began_ms: number): string {
  const form = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;
  const all = [...new Set(text.match(form) ?? [])];
  const near = (instant: string) => {
    const away_ms = Date.parse(instant) - began_ms;
    return away_ms > -30 * day_ms && away_ms < 400 * day_ms;
  };
  const isRound = (instant: string) => /:00(\.0+)?Z$/.test(instant);
  const own = all.filter((one) => near(one) && !isRound(one)).toSorted();
  const rank = new Map(own.map((instant, index) => [instant, index]));
  const shift_ms = Math.floor((told_ms - began_ms) / day_ms) * day_ms;
  return text.replaceAll(form, (instant) => {
    if (!near(instant)) return instant;
    const place = rank.get(instant);
    const days_ms = Math.round((Date.parse(instant) - began_ms) / day_ms) * day_ms;
    const at =
      place === undefined ? Date.parse(instant) + shift_ms : told_ms + days_ms + place * 1000;
    const fraction = /\.(\d+)Z$/.exec(instant)?.[1]?.length ?? 0;
    const whole = new Date(at).toISOString().slice(0, 19);
    return fraction === 0 ? `${whole}Z` : `${whole}.${'0'.repeat(fraction)}Z`;
  });
}
