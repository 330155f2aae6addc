import type { Random } from '../chaos/random.ts';

/** Texts that have broken servers: for stores, parsers, paths, pages and people. */
const texts = [
  '',
  ' ',
  '\t\r\n',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfffy',
  '\u202eabc',
  '\ufeff',
  '\u200b',
  '😀'.repeat(40),
  'e\u0301',
  'ß',
  'İ',
  "'",
  '"',
  "' OR 1=1 --",
  "'; DROP TABLE users; --",
  '$1',
  '%',
  '%00',
  '%2e%2e%2f',
  '%s%n',
  '\\',
  '\\u0000',
  '../../../../etc/passwd',
  '/etc/passwd',
  '{{7*7}}',
  '${7*7}',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  'true',
  '0',
  '-1',
  '1e309',
  '9999999999999999999999',
  '2147483648',
  '-2147483649',
  '9223372036854775808',
  '1.5',
  '0x10',
  '@current',
  '@me',
  '00000000-0000-0000-0000-000000000000',
  '01890000-0000-7000-8000-000000000000',
  '2026-02-30T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '0001-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59.999999999Z',
  '2026-01-01',
  '2026-01-01T00:00:00',
  '2026-01-01T24:00:00Z',
  'infinity',
  '-infinity',
  'epoch',
  'now',
  'http://169.254.169.254/latest/meta-data/',
  'http://[::1]:22/',
  'http://localhost:5432/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'a@b',
  'a@b.example',
  '"a b"@b.example',
  'a'.repeat(255),
  'a'.repeat(1001),
  'a'.repeat(70_000),
  'é'.repeat(300),
  '('.repeat(300),
  '[[[[[[[['.repeat(30),
  'a,b,,c',
  '*',
  ';',
  '&a=b',
  '#',
];

const numbers = [
  0,
  -0,
  1,
  -1,
  0.1,
  1e-320,
  1e308,
  2147483647,
  2147483648,
  -2147483649,
  Number.MAX_SAFE_INTEGER,
  2 ** 63,
  -(2 ** 63) - 2048,
  4294967296,
];

/** Returns a text that is likely to cause a fault. */
export function hostileText(random: Random): string {
  return random.one(texts);
}

/** Returns a value of an unexpected kind. */
export function hostileValue(random: Random): unknown {
  switch (random.between(0, 9)) {
    case 0:
      return null;
    case 1:
      return random.next() < 0.5;
    case 2:
    case 3:
      return random.one(numbers);
    case 4:
      return [];
    case 5:
      return {};
    case 6:
      return Array.from({ length: random.one([1, 3, 200, 1001]) }, () => random.one(texts));
    case 7:
      return nested(random.one([3, 63, 64, 65, 200]));
    default:
      return random.one(texts);
  }
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
