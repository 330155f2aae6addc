import { define } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

const scans = { scans: true };

/** Text and regular expressions. */
export const texts: FunctionTopic = {
  title: 'Text',
  note:
    'Write the text to find (marked `#`) in the query, with up to 1,000 characters. Regular ' +
    'expressions have the syntax of RE2. Functions that find every match search the first 4,096 ' +
    'bytes of a text and cannot be in a lambda. The others search as many bytes as 1,000,000 ' +
    'divided by the characters and classes of the expression. They replace nothing after that. ' +
    '`a || b` joins texts.',
  functions: [
    define(
      'length',
      '(text) -> integer | ([any]) -> integer | ({any}) -> integer',
      'Bytes of a text, or items',
      'length(event)',
    ),
    define('lengthUTF8', '(text) -> integer', 'Characters', "lengthUTF8('größe')"),
    define(
      'empty',
      '(text) -> boolean | ([any]) -> boolean',
      'True for an empty text or list',
      'empty(event)',
    ),
    define(
      'notEmpty',
      '(text) -> boolean | ([any]) -> boolean',
      'True for a text or list that is not empty',
      'notEmpty(event)',
    ),
    define('lower', '(text) -> text', 'ASCII letters in lower case', 'lower(event)'),
    define('upper', '(text) -> text', 'ASCII letters in upper case', 'upper(event)'),
    define('lowerUTF8', '(text) -> text', 'All letters in lower case', "lowerUTF8('GRÖSSE')"),
    define('upperUTF8', '(text) -> text', 'All letters in upper case', "upperUTF8('größe')"),
    define('initcap', '(text) -> text', 'First letters in upper case', 'initcap(event)'),
    define('reverse', '(text) -> text', 'Backwards, byte by byte', "reverse('abc')"),
    define('reverseUTF8', '(text) -> text', 'Backwards', "reverseUTF8('größe')"),
    define(
      'concat',
      '(text, text...) -> text',
      'All texts joined',
      "concat(event, '-', distinct_id)",
    ),
    define(
      'concatWithSeparator',
      '(#text, text, text...) -> text',
      'All texts joined with a separator',
      "concatWithSeparator('-', event, distinct_id)",
    ),
    define(
      'substring',
      '(text, integer, integer?) -> text',
      'From a byte, counted from 1, so many',
      "substring('hello', 2, 3)",
    ),
    define(
      'substringUTF8',
      '(text, integer, integer?) -> text',
      'From a character, counted from 1, so many',
      "substringUTF8('größe', 3)",
    ),
    define(
      'left',
      '(text, integer) -> text',
      'The given number of bytes from the start',
      "left('hello', 2)",
    ),
    define(
      'right',
      '(text, integer) -> text',
      'The given number of bytes from the end',
      "right('hello', 2)",
    ),
    define(
      'leftUTF8',
      '(text, integer) -> text',
      'The given number of characters from the start',
      "leftUTF8('größe', 3)",
    ),
    define(
      'rightUTF8',
      '(text, integer) -> text',
      'The given number of characters from the end',
      "rightUTF8('größe', 3)",
    ),
    define('trim', '(text) -> text', 'Without spaces at both ends', "trim(' a ')", {
      engine: 'trimBoth($1)',
    }),
    define('trimLeft', '(text) -> text', 'Without spaces at the start', "trimLeft(' a ')"),
    define('trimRight', '(text) -> text', 'Without spaces at the end', "trimRight(' a ')"),
    define(
      'leftPad',
      '(text, #size, #text?) -> text',
      'Filled at the start up to a length of at most 1,000',
      "leftPad('7', 3, '0')",
    ),
    define(
      'rightPad',
      '(text, #size, #text?) -> text',
      'Filled at the end up to a length of at most 1,000',
      "rightPad('7', 3)",
    ),
    define(
      'startsWith',
      '(text, text) -> boolean',
      'True if the text begins with the second text',
      "startsWith(event, '$')",
    ),
    define(
      'endsWith',
      '(text, text) -> boolean',
      'True if the text ends with the second text',
      "endsWith(event, 'x')",
    ),
    define(
      'position',
      '(text, #text) -> integer',
      'First byte of the first match, from 1; otherwise 0',
      "position('hello', 'l')",
    ),
    define(
      'positionCaseInsensitive',
      '(text, #text) -> integer',
      '`position` with case left aside',
      "positionCaseInsensitive('hello', 'L')",
    ),
    define(
      'positionUTF8',
      '(text, #text) -> integer',
      'First character of the first match, from 1; otherwise 0',
      "positionUTF8('größe', 'ß')",
    ),
    define(
      'countSubstrings',
      '(text, #text) -> integer',
      'Number of matches',
      "countSubstrings('hello', 'l')",
    ),
    define(
      'hasToken',
      '(text, #token) -> boolean',
      'True if it is a word of the text',
      "hasToken('big data', 'data')",
    ),
    define(
      'replaceOne',
      '(text, #text, text) -> text',
      'With the first match replaced',
      "replaceOne('hello', 'l', 'L')",
    ),
    define(
      'replaceAll',
      '(text, #text, text) -> text',
      'With every match replaced',
      "replaceAll('hello', 'l', 'L')",
    ),
    define(
      'replaceRegexpOne',
      '(text, #pattern, #text) -> text',
      'With the first match of a regular expression replaced; `\\\\1` is its first group',
      "replaceRegexpOne('a1', '([a-z])', '\\\\1\\\\1')",
    ),
    define(
      'replaceRegexpAll',
      '(text, #pattern, #text) -> text',
      'With every match of a regular expression replaced',
      "replaceRegexpAll('a1b2', '[0-9]', '#')",
      scans,
    ),
    define(
      'translate',
      '(text, #text, #text) -> text',
      'Letter by letter',
      "translate('hello', 'el', 'ip')",
    ),
    define(
      'match',
      '(text, #pattern) -> boolean',
      'Does a regular expression match anywhere?',
      "match(event, '^[a-z]+$')",
    ),
    define(
      'extract',
      '(text, #pattern) -> text',
      'First match of a regular expression, or its first group',
      "extract('id=42', 'id=([0-9]+)')",
    ),
    define(
      'extractAll',
      '(text, #pattern) -> [text]',
      'Every match of a regular expression',
      "extractAll('a1b2', '[0-9]')",
      scans,
    ),
    define(
      'extractGroups',
      '(text, #pattern) -> [text]',
      'The groups of the first match',
      "extractGroups('a1', '([a-z])([0-9])')",
    ),
    define(
      'countMatches',
      '(text, #pattern) -> integer',
      'How often a regular expression matches',
      "countMatches('a1b2', '[0-9]')",
      scans,
    ),
    define(
      'splitByChar',
      '(#text, text) -> [text]',
      'The parts between a character',
      "splitByChar(',', 'a,b')",
    ),
    define(
      'splitByString',
      '(#text, text) -> [text]',
      'The parts between a text',
      "splitByString(', ', 'a, b')",
    ),
    define(
      'splitByRegexp',
      '(#pattern, text) -> [text]',
      'The parts between the matches of a regular expression',
      "splitByRegexp('[,;]', 'a,b;c')",
      {
        scans: true,
      },
    ),
    define(
      'arrayStringConcat',
      '([text], #text?) -> text',
      'The items with something between',
      "arrayStringConcat(['a', 'b'], '-')",
    ),
    define(
      'substringIndex',
      '(text, #text, #integer) -> text',
      'The text before the given number of parts; a negative number counts from the end',
      "substringIndex('a.b.c', '.', 2)",
    ),
    define(
      'format',
      '(#text, text, text...) -> text',
      'A pattern with `{}` for each further text',
      "format('{}:{}', event, distinct_id)",
    ),
    define('ascii', '(text) -> integer', 'Number of the first byte', "ascii('a')"),
    define('isValidUTF8', '(text) -> boolean', 'True for valid UTF-8', 'isValidUTF8(event)'),
    define('toValidUTF8', '(text) -> text', 'Broken bytes replaced', 'toValidUTF8(event)'),
    define('base64Encode', '(text) -> text', 'As Base64', "base64Encode('hello')"),
    define(
      'base64Decode',
      '(text) -> text',
      'From Base64; fails on other text',
      "base64Decode('aGVsbG8=')",
    ),
    define(
      'tryBase64Decode',
      '(text) -> text',
      'From Base64; empty for other text',
      "tryBase64Decode('!')",
    ),
    define(
      'hex',
      '(text) -> text | (bytes) -> text | (uuid) -> text',
      'Bytes as hexadecimal digits',
      "hex('hi')",
    ),
  ],
};
