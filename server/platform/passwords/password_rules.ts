/** First guesses of every attacker: words that add nothing to a password. */
const common_words = [
  'correct horse battery staple administrator qwertyuiop asdfghjkl zxcvbnm 1q2w3e4r5t6y 1q2w3e4r ' +
    '1qaz2wsx zaq12wsx qazwsxedc qazwsx qwerty qwertz azerty',
  'password passwort passphrase motdepasse contrasena letmein welcome willkommen iloveyou ' +
    'changeme default temporary trustno football baseball basketball',
  'superman batman starwars pokemon minecraft princess sunshine dragon monkey shadow master ' +
    'freedom whatever charlie michael jennifer jordan ashley summer',
  'winter spring autumn secret hello login access admin company computer internet google ' +
    'facebook samsung sluice server test user root guest love pass abc xyz',
].flatMap((line) => line.split(' '));
const keyboard_rows = [
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'qsdfghjklm',
  'zxcvbnm',
  'yxcvbnm',
  'wxcvbn',
  '1234567890',
];
/** Letters that people write as other characters. */
const disguises: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};
const distinct_characters_min = 5;
const own_word_length_min = 3;

/**
 * Returns why the password is not acceptable, as a sentence; undefined if it is. Common words, the
 * person's own words (`own`: address, names), repetitions, and runs of the alphabet or keyboard do
 * not count: at least five different other characters must be left. No kind of character is
 * required. The schema checks its length.
 */
export function passwordFault(password: string, own: readonly string[]): string | undefined {
  const plain = password.normalize('NFKC').toLowerCase();
  // The longest first, so that a shorter word does not break up a longer one.
  const words = [...own.flatMap(wordsOf), ...common_words].sort(
    (one, other) => other.length - one.length,
  );
  const readings = [
    plain,
    [...plain].map((character) => disguises[character] ?? character).join(''),
  ];
  if (readings.every((reading) => unguessable(reading, words) >= distinct_characters_min))
    return undefined;
  return (
    'This password is easy to guess. Use several unrelated words, or a password from a ' +
    'password manager.'
  );
}

/** Returns the words in a person's address or name, and the whole. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKC').toLowerCase();
  const parts = plain.split(/[^\p{L}\p{N}]+/u).filter((part) => part.length >= own_word_length_min);
  return plain.length < own_word_length_min ? [] : [plain, ...parts];
}

/** Counts the different characters outside the words that do not follow from the previous one. */
function unguessable(text: string, words: string[]): number {
  const rest = [...words.reduce((left, word) => left.replaceAll(word, ''), text)];
  return new Set(
    rest.filter((character, index) => index === 0 || !isExpected(rest[index - 1]!, character)),
  ).size;
}

function isExpected(before: string, character: string): boolean {
  if (Math.abs(before.codePointAt(0)! - character.codePointAt(0)!) <= 1) return true;
  return keyboard_rows.some(
    (row) => row.includes(before + character) || row.includes(character + before),
  );
}
