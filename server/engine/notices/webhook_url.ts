import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';

/** Replaces path and query in a shown address. */
export const hidden_part = '********';
/**
 * Length of the hidden part from which its last characters are shown too, and their number: enough
 * to tell two webhooks of one host apart, too few to guess the rest.
 */
const hinted_characters_min = 24;
const hint_characters = 4;

/** The context under which a target's whole address is sealed. */
export function urlContext(targetId: string): string {
  return `notice_targets:${targetId}:url`;
}

/**
 * Returns the public part of a webhook's address: scheme, host and port, and the last four
 * characters of a long path and query; many services put a secret there.
 */
function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const hidden = `${pathname.slice(1)}${search}`;
  if (hidden === '') return `${origin}/`;
  const hint = hidden.length < hinted_characters_min ? '' : hidden.slice(-hint_characters);
  return `${origin}/${hidden_part}${hint}`;
}

/** An address as it is stored: whole and sealed for its target's row, and as it is shown. */
export function storedUrl(
  secrets: Secrets,
  targetId: string,
  url: string,
): { url: string; url_sealed: Buffer } {
  return { url: shownUrl(url), url_sealed: secrets.seal(url, urlContext(targetId)) };
}

/**
 * Seals the addresses that are still stored as plain text, from before there was a place for sealed
 * ones; several processes may do so at once.
 */
export async function sealPlainUrls(db: Queryable, secrets: Secrets): Promise<void> {
  const plain = await db.rows<{ id: string; url: string }>(
    sql`SELECT id, url FROM notice_targets WHERE url IS NOT NULL AND url_sealed IS NULL`,
  );
  for (const { id, url: whole } of plain) {
    const { url, url_sealed } = storedUrl(secrets, id, whole);
    await db.run(
      sql`UPDATE notice_targets SET url = ${url}, url_sealed = ${url_sealed} WHERE id = ${id}
        AND url_sealed IS NULL`,
    );
  }
}
