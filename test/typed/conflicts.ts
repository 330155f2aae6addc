import type { PropertyType } from '../../server/engine/model/schema/property_type.ts';
import { property_types } from '../../server/engine/model/schema/property_type.ts';
import type { Random } from '../chaos/random.ts';
import { takes } from './model.ts';

/** The properties of the schema: three of each type, with difficult names. */
export const typed_properties: { property: string; type: PropertyType }[] = property_types.flatMap(
  (type) => [
    { property: type, type },
    { property: `$${type} "of" it's\\`, type },
    { property: `${type}Größe`, type },
  ],
);

const fixed = [
  '0',
  '-0',
  '1',
  '-1',
  '7',
  '10',
  '10.0',
  '9.99',
  '-0.5',
  '1e3',
  '1E+2',
  '2e-3',
  '1e22',
  '1e400',
  '1e-400',
  '5e-324',
  '1.7976931348623157e308',
  '0.1',
  '0.30000000000000004',
  '0.1234567890123456789',
  '9007199254740992',
  '9007199254740993',
  '9007199254740993.0',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '18446744073709551615',
  '18446744073709551616',
  '123456789012345678901234567890',
  '1234567.8901234567',
  'true',
  'false',
  'null',
  '""',
  '"7"',
  '"007"',
  '"1e5"',
  '"true"',
  '"null"',
  '"NaN"',
  '" 7 "',
  '"{\\"a\\":1}"',
  '"[1]"',
  '"a\\tb\\n\\r\\\\ \\"c\\""',
  '"\\ud83d\\ude00 \\u00e9"',
  '"2026-11-29T20:00:00Z"',
  '"2026-11-29T20:00:00.123456+02:00"',
  '"2026-02-30T00:00:00Z"',
  '"2026-11-29"',
  '"1900-01-01T00:00:00+01:00"',
  '"2299-12-31T23:59:59.999999Z"',
  '{}',
  '[]',
  '{"a":{"b":[1,2.50,"x",null,true]}}',
  '[1,"1",1.0,18446744073709551616]',
  '{"n":1e400}',
];

/** Returns a value as JSON text. */
function anyValue(random: Random): string {
  switch (random.between(0, 7)) {
    case 0:
      return String(random.between(-1_000, 1_000));
    case 1:
      return String(random.next() * 10 ** random.between(-12, 18));
    case 2: {
      const digits = Array.from({ length: random.between(1, 30) }, () => random.between(0, 9));
      const text = digits.join('').replace(/^0+(?=\d)/, '');
      return random.next() < 0.5 ? text : `${text}.${digits.toReversed().join('')}`;
    }
    case 3:
      return JSON.stringify(new Date(random.between(-2e9, 8e9) * 1_000).toISOString());
    case 4:
      return JSON.stringify(
        Array.from({ length: random.between(0, 8) }, () =>
          random.one(Array.from(`aZ9 "\\/é\u{1f600}`)),
        ).join(''),
      );
    default:
      return random.one(fixed);
  }
}

/** Returns the properties of an event as JSON text, and the names of those that no column takes. */
export function anyProperties(random: Random): { text: string; unfit: string[] } {
  const unfit: string[] = [];
  const parts: string[] = [];
  const space = () => random.one(['', '', ' ']);
  const add = (name: string, value: string) =>
    parts.push(`${space()}${JSON.stringify(name)}${space()}:${space()}${value}${space()}`);
  for (const { property, type } of typed_properties) {
    if (random.next() < 0.3) continue;
    const value = anyValue(random);
    add(property, value);
    if (value !== 'null' && !takes(type, value)) unfit.push(property);
  }
  for (let more = random.between(0, 3); more > 0; more -= 1) add(`other ${more}`, anyValue(random));
  return { text: `{${parts.join(',')}}`, unfit };
}
