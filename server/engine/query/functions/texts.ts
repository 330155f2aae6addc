import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** Text and regular expressions. */
export const texts: FunctionTopic = {
  title: 'Text',
  note:
    'Write the text to find (marked `#`) in the query, with up to 1,000 characters. Regular ' +
    'expressions have the syntax of RE2. Functions that find every match search the first 4,096 ' +
    'bytes of a text and cannot be in a lambda. The others search as many bytes as 1,000,000 ' +
    'divided by the characters and classes of the expression. They replace nothing after that. ' +
    '`a || b` joins texts.',
  functions: readFunctions(`
    length(text) -> integer | ([any]) -> integer | ({any}) -> integer   e.g. length(event)
      Bytes of a text, or items
    lengthUTF8(text) -> integer   e.g. lengthUTF8('größe')
      Characters
    empty(text) -> boolean | ([any]) -> boolean   e.g. empty(event)
      True for an empty text or list
    notEmpty(text) -> boolean | ([any]) -> boolean   e.g. notEmpty(event)
      True for a text or list that is not empty
    lower(text) -> text   e.g. lower(event)
      ASCII letters in lower case
    upper(text) -> text   e.g. upper(event)
      ASCII letters in upper case
    lowerUTF8(text) -> text   e.g. lowerUTF8('GRÖSSE')
      All letters in lower case
    upperUTF8(text) -> text   e.g. upperUTF8('größe')
      All letters in upper case
    initcap(text) -> text   e.g. initcap(event)
      First letters in upper case
    reverse(text) -> text   e.g. reverse('abc')
      Backwards, byte by byte
    reverseUTF8(text) -> text   e.g. reverseUTF8('größe')
      Backwards
    concat(text, text...) -> text   e.g. concat(event, '-', distinct_id)
      All texts joined
    concatWithSeparator(#text, text, text...) -> text
      e.g. concatWithSeparator('-', event, distinct_id)
      All texts joined with a separator
    substring(text, integer, integer?) -> text   e.g. substring('hello', 2, 3)
      From a byte, counted from 1, so many
    substringUTF8(text, integer, integer?) -> text   e.g. substringUTF8('größe', 3)
      From a character, counted from 1, so many
    left(text, integer) -> text   e.g. left('hello', 2)
      The given number of bytes from the start
    right(text, integer) -> text   e.g. right('hello', 2)
      The given number of bytes from the end
    leftUTF8(text, integer) -> text   e.g. leftUTF8('größe', 3)
      The given number of characters from the start
    rightUTF8(text, integer) -> text   e.g. rightUTF8('größe', 3)
      The given number of characters from the end
    trim(text) -> text   e.g. trim(' a ')
      Without spaces at both ends
      engine: trimBoth($1)
    trimLeft(text) -> text   e.g. trimLeft(' a ')
      Without spaces at the start
    trimRight(text) -> text   e.g. trimRight(' a ')
      Without spaces at the end
    leftPad(text, #size, #text?) -> text   e.g. leftPad('7', 3, '0')
      Filled at the start up to a length of at most 1,000
    rightPad(text, #size, #text?) -> text   e.g. rightPad('7', 3)
      Filled at the end up to a length of at most 1,000
    startsWith(text, text) -> boolean   e.g. startsWith(event, '$')
      True if the text begins with the second text
    endsWith(text, text) -> boolean   e.g. endsWith(event, 'x')
      True if the text ends with the second text
    position(text, #text) -> integer   e.g. position('hello', 'l')
      First byte of the first match, from 1; otherwise 0
    positionCaseInsensitive(text, #text) -> integer   e.g. positionCaseInsensitive('hello', 'L')
      \`position\` with case left aside
    positionUTF8(text, #text) -> integer   e.g. positionUTF8('größe', 'ß')
      First character of the first match, from 1; otherwise 0
    countSubstrings(text, #text) -> integer   e.g. countSubstrings('hello', 'l')
      Number of matches
    hasToken(text, #token) -> boolean   e.g. hasToken('big data', 'data')
      True if it is a word of the text
    replaceOne(text, #text, text) -> text   e.g. replaceOne('hello', 'l', 'L')
      With the first match replaced
    replaceAll(text, #text, text) -> text   e.g. replaceAll('hello', 'l', 'L')
      With every match replaced
    replaceRegexpOne(text, #pattern, #text) -> text
      e.g. replaceRegexpOne('a1', '([a-z])', '\\\\1\\\\1')
      With the first match of a regular expression replaced; \`\\\\1\` is its first group
    scans replaceRegexpAll(text, #pattern, #text) -> text
      e.g. replaceRegexpAll('a1b2', '[0-9]', '#')
      With every match of a regular expression replaced
    translate(text, #text, #text) -> text   e.g. translate('hello', 'el', 'ip')
      Letter by letter
    match(text, #pattern) -> boolean   e.g. match(event, '^[a-z]+$')
      Does a regular expression match anywhere?
    extract(text, #pattern) -> text   e.g. extract('id=42', 'id=([0-9]+)')
      First match of a regular expression, or its first group
    scans extractAll(text, #pattern) -> [text]   e.g. extractAll('a1b2', '[0-9]')
      Every match of a regular expression
    extractGroups(text, #pattern) -> [text]   e.g. extractGroups('a1', '([a-z])([0-9])')
      The groups of the first match
    scans countMatches(text, #pattern) -> integer   e.g. countMatches('a1b2', '[0-9]')
      How often a regular expression matches
    splitByChar(#text, text) -> [text]   e.g. splitByChar(',', 'a,b')
      The parts between a character
    splitByString(#text, text) -> [text]   e.g. splitByString(', ', 'a, b')
      The parts between a text
    scans splitByRegexp(#pattern, text) -> [text]   e.g. splitByRegexp('[,;]', 'a,b;c')
      The parts between the matches of a regular expression
    arrayStringConcat([text], #text?) -> text   e.g. arrayStringConcat(['a', 'b'], '-')
      The items with something between
    substringIndex(text, #text, #integer) -> text   e.g. substringIndex('a.b.c', '.', 2)
      The text before the given number of parts; a negative number counts from the end
    format(#text, text, text...) -> text   e.g. format('{}:{}', event, distinct_id)
      A pattern with \`{}\` for each further text
    ascii(text) -> integer   e.g. ascii('a')
      Number of the first byte
    isValidUTF8(text) -> boolean   e.g. isValidUTF8(event)
      True for valid UTF-8
    toValidUTF8(text) -> text   e.g. toValidUTF8(event)
      Broken bytes replaced
    base64Encode(text) -> text   e.g. base64Encode('hello')
      As Base64
    base64Decode(text) -> text   e.g. base64Decode('aGVsbG8=')
      From Base64; fails on other text
    tryBase64Decode(text) -> text   e.g. tryBase64Decode('!')
      From Base64; empty for other text
    hex(text) -> text | (bytes) -> text | (uuid) -> text   e.g. hex('hi')
      Bytes as hexadecimal digits
  `),
};
