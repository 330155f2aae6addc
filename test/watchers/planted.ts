import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { Secret } from 'otpauth';
import { pino } from 'pino';
import { destinations } from '../../server/engine/destinations/index.ts';
import type { Logger } from '../../server/platform/log.ts';
import type { Database } from '../../server/platform/postgres/database.ts';

/**
 * Fields of bodies and answers that contain a secret, whose text may be stored nowhere in clear. A
 * new key is in `value`, like other values; keys are recognized by their form.
 */
const secret_fields = new Set([
  'password',
  'current_password',
  'new_password',
  'secret',
  'token',
  'recovery_codes',
  'otpauth_url',
  'link',
  ...destinations.flatMap(({ secrets }) => secrets),
]);
/** Shorter ones occur by chance. */
const secret_length_min = 10;
/** A string of Node.js has at most 512 MB. */
const part_length_max = 100_000_000;
/** Matches anything that looks like a key or a session's token, even if no test has seen it. */
const forms = /slk_[0-9A-Za-z]{49}|sl[cs]_[0-9A-Za-z]{43}/;

/** A text, and the place where it was found. */
type Place = { text: string; where: string };

/** Remembers every secret in a test's requests and answers, and the log lines meanwhile. */
export type PlantedSecrets = {
  log: Logger;
  see(sent: unknown, answered: unknown, cookies: string[]): void;
  /**
   * Fails if one of them is in a row of the database, or in a line of the log, that was written
   * since the last search. The search continues for the ones of that time, because a line may come
   * late.
   */
  search(db: Database): Promise<void>;
};

/** Starts to watch; log lines of every level are kept in memory until `search`. */
export function watchSecrets(): PlantedSecrets {
  let earlier = new Set<string>();
  let secrets = new Set<string>();
  let lines: string[] = [];
  let seen_before = '0';
  const collect = (value: unknown, isSecret: boolean): void => {
    if (typeof value === 'string') {
      if (isSecret && value.length >= secret_length_min)
        for (const part of partsOf(value)) secrets.add(part);
    } else if (isReference(value) || isDescription(value)) return;
    else if (Array.isArray(value)) for (const item of value) collect(item, isSecret);
    else if (typeof value === 'object' && value !== null)
      for (const [name, field] of Object.entries(value))
        collect(field, isSecret || secret_fields.has(name));
  };
  return {
    log: pino(
      { level: 'trace' },
      new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) }),
    ),
    see: (sent, answered, cookies) => {
      collect(sent, false);
      collect(answered, false);
      for (const cookie of cookies) collect(/^[^=]+=([^;]+)/.exec(cookie)?.[1], true);
    },
    search: async (db) => {
      const logged = lines.map((text) => ({ text, where: `the log line ${text.slice(0, 200)}` }));
      const rows = await rowsOf(db, seen_before);
      const places = [...logged, ...rows.places];
      const looked_for = [...secrets, ...earlier];
      [earlier, secrets, lines, seen_before] = [secrets, new Set(), [], rows.seen_before];
      for (const some of parts(places)) searchPart(some, looked_for);
    },
  };
}

/**
 * Returns the texts in parts that fit into one string, because a benchmark plants gigabytes of
 * rows.
 */
function* parts(places: Place[]): Generator<Place[]> {
  let part: Place[] = [];
  let length = 0;
  for (const place of places) {
    if (length + place.text.length > part_length_max) {
      yield part;
      [part, length] = [[], 0];
    }
    part.push(place);
    length += place.text.length;
  }
  yield part;
}

function searchPart(places: Place[], secrets: string[]): void {
  // Searches all places at once first; only a hit needs the search by place.
  const whole = places.map(({ text }) => text).join('\n');
  const found = secrets.filter((secret) => whole.includes(secret));
  if (found.length === 0 && !forms.test(whole)) return;
  for (const { text, where } of places) {
    for (const secret of found)
      if (text.includes(secret))
        assert.fail(`${where} holds a secret in clear: ${secret.slice(0, 6)}…`);
    assert.doesNotMatch(text, forms, `${where} holds a key or a session's token in clear`);
  }
}

/** A variable or file that stands for a secret is not one itself. */
function isReference(value: unknown): boolean {
  const [name, ...more] = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  return (name === 'env' || name === 'file') && more.length === 0;
}

/** The description of a setting has the name of a secret, but its label is none. */
function isDescription(value: unknown): boolean {
  const given = typeof value === 'object' && value !== null ? value : {};
  return 'type' in given && ('name' in given || 'label' in given || 'title' in given);
}

/**
 * A link's secret is its token, not its address. The search also finds a seed as bytes and a
 * recovery code without its hyphen.
 */
function partsOf(value: string): string[] {
  if (/^[A-Z2-7]{32}$/.test(value))
    return [value, Buffer.from(Secret.fromBase32(value).bytes).toString('latin1')];
  if (/^[A-Z2-7]{5}-[A-Z2-7]{5}$/.test(value)) return [value, value.replace('-', '')];
  // A header beside secret ones.
  if (/^(application|text)\/[\w.+-]+$/.test(value)) return [];
  if (!/^https?:|^otpauth:/.test(value)) return [value];
  return [...value.matchAll(/(?:token|secret)=([^&]+)/g)]
    .map((match) => decodeURIComponent(match[1]!))
    .filter((part) => part.length >= secret_length_min);
}

/**
 * Returns the rows that transactions since the given one have written, in the tables that were ever
 * written to; most tables were not. `seen_before` is for the next call.
 */
async function rowsOf(
  db: Database,
  since: string,
): Promise<{ places: Place[]; seen_before: string }> {
  const { rows: tables } = await db.text(
    "SELECT quote_ident(nspname) || '.' || quote_ident(relname) AS name, " +
      'pg_snapshot_xmin(pg_current_snapshot())::text AS seen_before FROM pg_class ' +
      'JOIN pg_namespace ON pg_namespace.oid = relnamespace ' +
      "WHERE relkind = 'r' AND nspname NOT IN ('pg_catalog', 'information_schema') " +
      'AND pg_relation_size(pg_class.oid) > 0',
  );
  const all = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, t::text AS row FROM ${name} t ` +
      `WHERE xmin::text::bigint >= ${since}`,
  );
  const { rows } = await db.text(all.join(' UNION ALL '));
  const places = rows.map(({ name, row }) => ({
    text: decoded(String(row)),
    where: `the table ${String(name)}`,
  }));
  return { places, seen_before: String(tables[0]!.seen_before) };
}

/** Bytes are dumped as hexadecimal digits, so the search also reads the text that they spell. */
function decoded(row: string): string {
  const spelled = [...row.matchAll(/\\\\?x((?:[0-9a-f]{2})+)/g)].map((match) =>
    Buffer.from(match[1]!, 'hex').toString('latin1'),
  );
  return [row, ...spelled].join('\n');
}
