import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { Random } from '../chaos/random.ts';
import { uuidOf } from '../sessions/histories.ts';

type Person = {
  distinct_id: string;
  person_id: string;
  properties: Record<string, number>;
  version: number;
  mapping: number;
  is_deleted: boolean;
};

/**
 * Returns the history of a few people who set properties, are merged into each other, are deleted
 * and come back. It has a row of the model of persons for each change, and the last row of each
 * person.
 */
export function personHistory(
  random: Random,
  number: number,
): { rows: ValueRow[]; last: ValueRow[] } {
  const people = Array.from({ length: random.between(2, 4) }, (_, index): Person => ({
    distinct_id: random.one([
      `d${number}-${index}`,
      `D${number} ${index} `,
      `ä\\${number}\t${index}`,
    ]),
    person_id: uuidOf(random),
    properties: {},
    version: 0,
    mapping: 1,
    is_deleted: false,
  }));
  const rows: ValueRow[] = [];
  const change = (person: Person, changes: Partial<Person>) => {
    Object.assign(person, changes, { version: person.version + 1 });
    rows.push(rowOf(person, rows.length));
  };
  for (const person of people) change(person, {});
  for (let acts = random.between(2, 7); acts > 0; acts -= 1) {
    const [one, other] = [random.one(people), random.one(people)];
    const act = random.next();
    if (act < 0.4 && one !== other && !one.is_deleted && !other.is_deleted) {
      const properties = { ...other.properties, ...one.properties };
      change(one, { properties, mapping: one.mapping + 1 });
      change(other, { properties: {}, mapping: other.mapping + 1, is_deleted: true });
    } else if (act < 0.5) change(one, { properties: {}, is_deleted: true });
    else
      change(one, {
        properties: { ...one.properties, [random.one(['plan', 'seats'])]: random.between(1, 9) },
        is_deleted: false,
      });
  }
  const newest = new Map(rows.map((row) => [row[1], row]));
  return { rows, last: [...newest.values()] };
}

function rowOf(person: Person, count: number): ValueRow {
  const { distinct_id, person_id, properties, version, mapping, is_deleted } = person;
  const instant = (second: number) =>
    `2026-01-02T03:04:${String(second % 60).padStart(2, '0')}.000001Z`;
  return [
    '7',
    distinct_id,
    person_id,
    JSON.stringify(properties),
    String(mapping),
    String(version),
    instant(0),
    String(is_deleted),
    instant(count),
  ];
}
