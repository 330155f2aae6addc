import fc from 'fast-check';

const names = ['team_id', 'event', 'events', 'persons', 'x', 'y', 'distinct_id', 'z'];
const alias = fc.constantFrom(...names);
const texts = ["'22'", "''", "'it''s'", "'%'"];

/** The columns that a query over a table may use, by kind. */
type Columns = { text: string[]; number: string[] };
const of_events: Columns = {
  text: [
    'event',
    'distinct_id',
    'properties.plan',
    'person.properties.name',
    'toString(uuid)',
    'properties',
  ],
  number: ['team_id', 'properties.n', 'properties.price', 'length(event)'],
};
const of_persons: Columns = {
  text: ['distinct_id', 'properties.plan', 'toString(person_id)', 'properties'],
  number: ['team_id', 'person_version', 'properties.age'],
};

type Parts = { text: string; number: string; condition: string };
type Tie = fc.LetrecTypedTie<Parts>;

const textsOf = (columns: Columns, tie: Tie) =>
  fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...columns.text, ...texts),
    fc.tuple(tie('text'), tie('text')).map(([one, other]) => `concat(${one}, ${other})`),
    fc
      .tuple(fc.constantFrom('lower', 'upper', 'reverse', 'trim'), tie('text'))
      .map(([name, one]) => `${name}(${one})`),
    fc
      .tuple(tie('condition'), tie('text'), tie('text'))
      .map(([test, one, other]) => `if(${test}, toString(${one}), toString(${other}))`),
    tie('number').map((one) => `toString(${one})`),
    tie('text').map(
      (one) => `arrayStringConcat(arrayMap(x -> concat(x, '!'), splitByChar(' ', ${one})), '-')`,
    ),
  );

const numbersOf = (columns: Columns, tie: Tie) =>
  fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...columns.number, '1', '22', '-5', '1.5'),
    fc
      .tuple(tie('number'), fc.constantFrom('+', '-', '*', '/'), tie('number'))
      .map(([one, sign, other]) => `(${one} ${sign} ${other})`),
    tie('text').map((one) => `length(${one})`),
    fc
      .tuple(tie('condition'), tie('number'))
      .map(([test, one]) => `CASE WHEN ${test} THEN ${one} ELSE 0 END`),
  );

const conditionsOf = (tie: Tie) =>
  fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      'true',
      'team_id = 22',
      'team_id != 11',
      'NOT team_id = 11',
      "event = 'foreign 1'",
    ),
    fc
      .tuple(tie('text'), fc.constantFrom('=', '!=', '<', '>='), tie('text'))
      .map(([one, sign, other]) => `${one} ${sign} ${other}`),
    fc
      .tuple(tie('number'), fc.constantFrom('=', '!=', '<', '>='), tie('number'))
      .map(([one, sign, other]) => `${one} ${sign} ${other}`),
    fc
      .tuple(tie('condition'), fc.constantFrom('AND', 'OR'), tie('condition'))
      .map(([one, sign, other]) => `(${one} ${sign} ${other})`),
    tie('condition').map((one) => `NOT (${one})`),
    tie('text').map((one) => `${one} IS NULL`),
    fc
      .tuple(
        tie('text'),
        fc.constantFrom('IN', 'NOT IN'),
        fc.constantFrom(
          'SELECT event FROM events WHERE team_id = 22',
          'SELECT distinct_id FROM persons',
          'SELECT properties.plan FROM persons',
        ),
      )
      .map(([one, sign, select]) => `${one} ${sign} (${select})`),
  );

const partsOf = (columns: Columns) =>
  fc.letrec<Parts>((tie) => ({
    text: textsOf(columns, tie),
    number: numbersOf(columns, tie),
    condition: conditionsOf(tie),
  }));

const events = partsOf(of_events);
const persons = partsOf(of_persons);

const plain = fc
  .tuple(
    fc.constantFrom({ table: 'events', parts: events }, { table: 'persons', parts: persons }),
    alias,
  )
  .chain(([{ table, parts }, name]) =>
    fc
      .tuple(parts.text, parts.number, parts.condition)
      .map(
        ([text, number, where]) =>
          `SELECT ${text} AS ${name}, ${number} AS number FROM ${table} WHERE ${where}`,
      ),
  );
const grouped = fc.tuple(events.text, events.number, events.condition).map(
  ([key, number, having]) =>
    `SELECT ${key} AS k, count() AS number, max(${number}) AS m, groupArray(${key}) AS a,
        countIf(${having}) AS c FROM events GROUP BY k`,
);
const joined = fc
  .tuple(
    fc.constantFrom('JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'),
    alias,
    fc.constantFrom('', ' AND a.team_id != b.team_id', " AND b.properties.plan = 'foreign'"),
  )
  .map(
    ([join, name, more]) =>
      `SELECT a.event AS ${name}, b.properties AS number FROM events a ${join} persons b
        ON a.distinct_id = b.distinct_id${more}`,
  );
const ordered = fc.tuple(events.text, events.number, fc.nat({ max: 5 })).map(
  ([text, number, limit]) =>
    `SELECT ${text} AS t, row_number() OVER (PARTITION BY ${text} ORDER BY ${number}) AS number
        FROM events ORDER BY ${number} DESC, t LIMIT ${limit + 1}`,
);
const nested = fc.tuple(plain, alias).map(
  ([select, name]) =>
    `WITH ${name} AS (${select}), other AS (SELECT number FROM ${name})
        SELECT number, count() AS n FROM other GROUP BY number`,
);
const united = fc.tuple(plain, plain).map(([one, other]) => `${one} UNION ALL ${other}`);

/**
 * Valid queries of many forms over events and persons, with names and values that imitate another
 * project. A few are refused for their types.
 */
export const random_query: fc.Arbitrary<string> = fc.oneof(
  plain,
  grouped,
  joined,
  ordered,
  nested,
  united,
);
