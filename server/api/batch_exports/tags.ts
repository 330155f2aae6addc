import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { Type } from 'typebox';
import { lineOfText } from '../../platform/line_of_text.ts';
import type { Violation } from '../../platform/http/errors.ts';

const tags_max = 20;
/** Most tags that an overview counts. */
const counted_max = 100;

/** The tags that people give to an export. */
export const Tags = Type.Array(lineOfText(50), {
  maxItems: tags_max,
  uniqueItems: true,
  description:
    'Words to find the export by, such as a team or a purpose. They change nothing of the ' +
    'deliveries. No commas; default none.',
});

/** The tags of an export in an answer. */
export const StoredTags = Type.Array(Type.String(), {
  description: 'Words by which people find the export.',
});

/** The query parameter that selects exports with a tag. */
export const TagAsked = Type.String({
  maxLength: 50,
  description: 'Only exports with exactly this tag.',
});

/**
 * Returns the violations of tags with a comma, because the comma separates tags in forms and in the
 * command line.
 */
export function tagViolations(tags: unknown): Violation[] {
  if (!Array.isArray(tags)) return [];
  return tags.flatMap((tag, index) =>
    typeof tag === 'string' && tag.includes(',')
      ? [{ attr: `tags__${index}`, code: 'invalid_input', detail: 'Must not contain a comma.' }]
      : [],
  );
}

/** The condition that an export `e` has the tag; empty without a tag. */
export const hasTag = (tag: string | undefined): Sql =>
  tag === undefined ? empty : sql`${tag} = ANY (e.tags)`;

/** Counts the tags of matching exports, by name; at most 100 tags. */
export const countTags = (condition: Sql): Sql => sql`
  SELECT tag, count(*) AS count FROM batch_exports e CROSS JOIN LATERAL unnest(e.tags) AS t (tag)
  WHERE ${condition} GROUP BY tag ORDER BY lower(tag), tag LIMIT ${counted_max}`;
