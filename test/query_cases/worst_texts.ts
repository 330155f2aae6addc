/** Repeats a piece as often as fits into this many characters. */
function fill(create: (index: number) => string, characters: number, between = ', '): string {
  const pieces: string[] = [];
  for (let length = 0, index = 0; ; index += 1) {
    const piece = create(index);
    length += piece.length + between.length;
    if (length > characters) return pieces.join(between);
    pieces.push(piece);
  }
}

/** Nests a subquery this many times. */
function nest(times: number, wrap: (inner: string) => string, innermost: string): string {
  return Array.from({ length: times }).reduce<string>(wrap, innermost);
}

const documents = 'toJSONString(toJSONString(toJSONString(properties.a).a).a)';

/**
 * Texts of at most 65,536 characters that cost a parser, resolver or printer the most work, by what
 * they repeat.
 */
export const worst_texts: Record<string, string> = {
  'near misses of long names': `SELECT
    ${fill((index) => `1 AS ${`${'a'.repeat(58)}${index}`.padEnd(63, 'b')}`, 60_000)},
    ${fill((index) => `${'a'.repeat(50)}${'x'.repeat(9)}${index}`, 1_500)} FROM events`,
  'faults of ORDER BY': `SELECT DISTINCT event FROM events
    ORDER BY ${fill(() => 'team_id', 64_000)}`,
  'faults of columns': `SELECT ${fill((index) => `nope${index}`, 64_000)} FROM events`,
  'one long literal': `SELECT '${'x'.repeat(32_000)}' AS a,
    ${fill((index) => `count(a) AS b${index}`, 32_000)} FROM events`,
  'documents in documents': `SELECT ${fill((index) => `${documents}.a AS x${index}`, 65_000)}
    FROM events`,
  'an alias of documents': `SELECT ${documents} AS b,
    ${fill((index) => `lower(b) AS x${index}`, 30_000)} FROM events
    ORDER BY ${fill(() => 'upper(b)', 30_000)}`,
  'keys of GROUP BY ALL': `SELECT
    ${fill((index) => `length(event) + ${index} AS x${index}`, 64_000)} FROM events GROUP BY ALL`,
  'a chain of aliases': `SELECT ${fill((index) => `x${index + 1} AS x${index}`, 60_000)}
    FROM events`,
  'one large window': `SELECT ${fill((index) => `lag(event) OVER w AS x${index}`, 30_000)}
    FROM events WINDOW w AS (PARTITION BY ${fill(() => 'event', 10_000)}
    ORDER BY ${fill(() => 'timestamp', 20_000)})`,
  'columns of columns': `SELECT ${fill(() => '*', 20_000)}
    FROM (SELECT ${fill((index) => `event AS a${index}`, 12_000)} FROM events)`,
  'tuples of tuples': `SELECT a = a AS b FROM
    (${nest(
      17,
      (inner) => `SELECT
    (${fill(() => 'a', 80)}) AS a FROM (${inner})`,
      'SELECT (event, event) AS a FROM events',
    )})`,
  'arrays of tuples': `SELECT a = a AS b FROM
    (${nest(
      17,
      (inner) => `SELECT ([a], [a], [a]) AS a
    FROM (${inner})`,
      'SELECT event AS a FROM events',
    )})`,
  'an alias of tuples': `SELECT
    ${Array.from({ length: 14 }, (_unused, index) =>
      index === 0 ? '(1, 1) AS a0' : `(a${index - 1}, a${index - 1}) AS a${index}`,
    ).join(', ')},
    ${fill((index) => `a13 AS b${index}`, 50_000)} FROM events`,
  'subqueries of WITH': `WITH
    ${fill(
      (index) =>
        index === 0 ? 'a0 AS (SELECT * FROM events)' : `a${index} AS (SELECT * FROM a${index - 1})`,
      3_500,
    )}
    SELECT * FROM a98`,
  'values of WITH': `WITH
    ${Array.from(
      { length: 60 },
      (_unused, index) => `(SELECT
    max(length(event))${index === 0 ? '' : ` + m${index - 1} + m${index - 1}`}
    FROM events) AS m${index}`,
    ).join(', ')}
    SELECT m17 FROM events`,
  'WITH by itself':
    'WITH (SELECT m + m + m FROM events WHERE m GROUP BY m HAVING m ORDER BY m) AS m SELECT m ' +
    'FROM events',
  comments: `SELECT event FROM events ${'/**/'.repeat(16_000)}`,
  'one long name': `SELECT ${'('.repeat(90)}${'a'.repeat(65_000)} FROM events`,
  'one long number': `SELECT ${'9'.repeat(65_000)} AS x FROM events`,
  'brackets of a regular expression': `SELECT match(event,
    '${'('.repeat(500)}${'{9}'.repeat(150)}') AS x FROM events`,
};
