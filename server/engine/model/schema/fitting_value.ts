import type { PropertyType } from './property_type.ts';

/**
 * Returns ClickHouse text for a property's value as a column of its type: NULL if the type does not
 * accept it. `raw` is a text expression with the value's JSON as it was sent: empty for a missing
 * property, and `doubled` for one that an object has twice.
 */
export function fittingValue(type: PropertyType, raw: string): string {
  switch (type) {
    case 'text':
      return `if(startsWith(${raw}, '"'), ${stringOf(raw)}, NULL)`;
    case 'integer':
      return `if(match(${raw}, '^-?[0-9]{1,19}([.]0+)?$'), ${integerOf(raw)}, NULL)`;
    case 'float':
      return `if(match(${raw}, '^-?[0-9]'), ${floatOf(raw)}, NULL)`;
    case 'boolean':
      return `if(${raw} IN ('true', 'false'), ${raw} = 'true', NULL)`;
    case 'timestamp':
      return `if(match(${raw}, '${instant}'), ${instantOf(raw)}, NULL)`;
    case 'json':
      return `if(${raw} IN ('', 'null', ${doubled}), NULL, ${raw})`;
  }
}

/** ClickHouse text of the placeholder for a name that an object has twice. */
export const doubled = `'\\0'`;

/** Most strings have no escapes. */
function stringOf(raw: string): string {
  return (
    `if(position(${raw}, '\\\\') = 0, substring(${raw}, 2, length(${raw}) - 2), ` +
    `JSONExtractString(${raw}))`
  );
}

/**
 * The store wraps numbers beyond 64 bits around, so only a number that prints the same is valid.
 */
function integerOf(raw: string): string {
  const whole = `splitByChar('.', ${raw})[1]`;
  const number = `toInt64OrZero(${whole})`;
  return `if(toString(${number}) = ${whole} OR ${whole} = '-0', ${number}, NULL)`;
}

/**
 * A double reproduces up to 15 digits. For longer numbers, the digits and the place of the point
 * are compared: 0.1 and 1e-1 have the same.
 */
function floatOf(raw: string): string {
  const number = `toFloat64OrZero(${raw})`;
  const isShort = `length(${raw}) <= 15 AND NOT match(${raw}, '[eE]')`;
  const isSame = `isFinite(${number}) AND ${digitsOf(`toString(${number})`)} = ${digitsOf(raw)}`;
  return `if((${isShort}) OR (${isSame}), ${number}, NULL)`;
}

/**
 * Returns the sign, the digits without outer zeros, and the exponent of the last one; zero has
 * neither sign nor exponent.
 */
function digitsOf(number: string): string {
  const parts = `extractGroups(${number}, '^(-?)0*([0-9]*)[.]?([0-9]*)(?:[eE]([+-]?[0-9]+))?$')`;
  const [sign, whole, fraction, exponent] = [1, 2, 3, 4].map((at) => `parts[${at}]`);
  const all = `trimLeft(concat(${whole}, ${fraction}), '0')`;
  const short = `trimRight(${all}, '0')`;
  const zeros = `length(${all}) - length(${short})`;
  const place = `toInt64OrZero(${exponent}) - length(${fraction}) + ${zeros}`;
  return `arrayMap(parts -> if(${short} = '', ('', '', 0), (${sign}, ${short}, ${place})),
    [${parts}])[1]`;
}

const instant =
  '^"(19|2[012])[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?' +
  '(Z|[+-][01][0-9]:[0-5][0-9])"$';

/**
 * The store moves a day that does not exist into the next month, so only an instant that prints the
 * same is valid. A zone can move the first and last supported years out of range.
 */
function instantOf(raw: string): string {
  const time = `concat(substring(${raw}, 2, 10), ' ', substring(${raw}, 13, 8), '.',
    rightPad(extract(${raw}, '[.]([0-9]+)'), 6, '0'))`;
  const local = `toDateTime64OrZero(${time}, 6, 'UTC')`;
  const minutes =
    `(if(substring(${raw}, -7, 1) = '-', -1, 1) * (toInt32OrZero(substring(${raw}, -6, 2)) * 60 ` +
    `+ toInt32OrZero(substring(${raw}, -3, 2))))`;
  return `if(toString(${local}) != ${time}, NULL, if(endsWith(${raw}, 'Z"'), ${local},
    if(substring(${raw}, 2, 4) IN ('1900', '2299'), NULL,
      subtractMinutes(${local}, ${minutes}))))`;
}
