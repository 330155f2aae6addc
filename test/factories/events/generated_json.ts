import { openRandom } from '../../chaos/random.ts';

/** Returns the next number of a seed's sequence, at least 0 and less than `below`. */
export type Draw = (below: number) => number;

/** Returns the numbers of a seed, the same on every machine. */
export function drawsOf(seed: number): Draw {
  const random = openRandom(seed, 0);
  return (below) => random.between(0, below - 1);
}

const of = <Item>(draw: Draw, items: readonly Item[]): Item => items[draw(items.length)]!;
const digits = (draw: Draw, count: number, set = '0123456789') =>
  Array.from({ length: count }, () => set[draw(set.length)]).join('');
const hex = (draw: Draw, count: number) => digits(draw, count, '0123456789abcdef');

/**
 * Returns a text that looks like a number outside of a number's place: hashes, ids, versions,
 * dates, lists, impossible exponents.
 */
function textLikeNumber(draw: Draw): string {
  const front = () =>
    of(draw, ['', ' ', 'commit ', 'id: ', 'a:', '[', ',', '\n', '{"n":', '-', '\t-']);
  const behind = () => of(draw, ['', ' ', ',', ']', '}', ' more', '.', 'x']);
  const middle = () => {
    switch (draw(12)) {
      case 0:
        return hex(draw, 40);
      case 1:
        return `${digits(draw, 2)}e${digits(draw, 5 + draw(20))}`;
      case 2:
        return `${hex(draw, 8)}-${hex(draw, 4)}-4${hex(draw, 3)}-a${hex(draw, 3)}-${hex(draw, 12)}`;
      case 3:
        return '.'.repeat(draw(10) === 0 ? 7_000 : 3);
      case 4:
        return digits(draw, draw(10) === 0 ? 6_500 : 30);
      case 5:
        return `1E+${digits(draw, 6)}`;
      case 6:
        return `${draw(300)}.${draw(300)}.${draw(300)}.${draw(300)}`;
      case 7:
        return (
          `20${digits(draw, 2)}-0${1 + draw(9)}-1${draw(10)}` +
          `T0${draw(10)}:00:00.${digits(draw, 6)}Z`
        );
      case 8:
        return `${digits(draw, 3)}.0`;
      case 9:
        return of(draw, [
          'Infinity',
          '-Infinity',
          'NaN',
          '0x1f',
          '1_000',
          '1e99999',
          '-0',
          '1e-16384',
        ]);
      case 10:
        return Array.from({ length: 3 }, () => `${digits(draw, 1)}e${digits(draw, 5)}`).join(',');
      default:
        return `e${digits(draw, 40)}`;
    }
  };
  return front() + middle() + behind();
}

const texts = [
  '',
  'null',
  'true',
  '\\N',
  '\\.',
  '{"a":1}',
  '[1,2',
  '"',
  '""',
  "'; DROP TABLE events; --",
  "\\'",
  '$1',
  '%s {0} {{x}}',
  '<b>&amp;</b>',
  'a\tb\nc\rd\u0001\u001f\u007f',
  '\b\f/\\/',
  '\\u0000',
  '\\ud800',
  '\\\\u0000',
  '\u2028\u2029\ufeff\ufffd',
  '😀👨‍👩‍👧‍👦',
  'é',
  'é',
  '1900-01-01',
  '2024-02-30T25:61:00Z',
  ' ',
  ',',
  '""",""',
  '=1+1',
  'number 1',
];

function someText(draw: Draw): string {
  switch (draw(4)) {
    case 0:
      return textLikeNumber(draw);
    case 1:
      return of(draw, texts) + of(draw, texts);
    case 2:
      return String.fromCodePoint(...Array.from({ length: draw(8) }, () => 1 + draw(0xd7ff)));
    default:
      return of(draw, texts);
  }
}

/**
 * Returns a text as JSON, with some needless escapes, and sometimes with NUL or half of a surrogate
 * pair.
 */
function quoted(draw: Draw, text: string): string {
  const inside = JSON.stringify(text).slice(1, -1);
  const end =
    draw(40) === 0 ? of(draw, ['\\u0000', '\\ud800', '\\uDC00x', '\\ud83d\\ude00', '\\/']) : '';
  return `"${draw(10) === 0 ? `\\u00${(0x61 + draw(26)).toString(16)}` : ''}${inside}${end}"`;
}

/** Returns a number of JSON in any notation, sometimes one that hardly any store holds. */
export function numberText(draw: Draw): string {
  const sign = of(draw, ['', '', '-']);
  const whole = draw(3) === 0 ? '0' : `${1 + draw(9)}${digits(draw, draw(draw(6) === 0 ? 40 : 6))}`;
  const fraction = of(draw, [
    '',
    '',
    `.${digits(draw, 1 + draw(6))}`,
    '.0',
    `.${digits(draw, 2)}0`,
    `.${digits(draw, 30)}`,
  ]);
  const exponent = of(draw, [
    '',
    '',
    '',
    '',
    `e${draw(40)}`,
    `E+${draw(400)}`,
    `e-${draw(400)}`,
    'e00',
  ]);
  if (draw(60) !== 0) return sign + whole + fraction + exponent;
  const far = [
    '1e9999',
    '1e-9999',
    '1e10000',
    '1e00012',
    '1e0000000012',
    '1e131071',
    '1e131072',
    '1e-16383',
    '1e-16384',
    '-1.5E+99999',
  ];
  return of(draw, [
    ...far,
    digits(draw, 1, '123') + digits(draw, 5_998),
    digits(draw, 1, '123') + digits(draw, 6_100),
    `0.${digits(draw, 7_000)}`,
  ]);
}

function space(draw: Draw): string {
  return draw(12) === 0 ? of(draw, [' ', '\n', '\t', '\r\n', '  ']) : '';
}

function valueText(draw: Draw, depth: number): string {
  switch (draw(depth > 0 ? 8 : 6)) {
    case 0:
    case 1:
      return numberText(draw);
    case 2:
    case 3:
    case 4:
      return quoted(draw, someText(draw));
    case 5:
      return of(draw, ['true', 'false', 'null', '{}', '[]']);
    case 6: {
      const items = Array.from({ length: draw(5) }, () => space(draw) + valueText(draw, depth - 1));
      return `[${items.join(`${space(draw)},`)}${space(draw)}]`;
    }
    default:
      return objectText(draw, depth - 1);
  }
}

/**
 * Returns JSON text of an object with everything that JSON allows: any notation of numbers,
 * escapes, white space, repeated keys, keys and texts that look like something else.
 */
export function objectText(draw: Draw, depth = 3): string {
  const members = Array.from(
    { length: draw(6) },
    () =>
      `${space(draw)}${quoted(draw, draw(8) === 0 ? 'twice' : someText(draw))}` +
      `${space(draw)}:${space(draw)}${valueText(draw, depth)}`,
  );
  return `{${members.join(',')}${space(draw)}}`;
}

/** Returns JSON text of an object whose one value is a text that looks like a number. */
export function messageText(draw: Draw): string {
  return `{"message": ${JSON.stringify(textLikeNumber(draw))}}`;
}
