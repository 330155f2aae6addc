import { define } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** JSON text. */
export const json: FunctionTopic = {
  title: 'JSON',
  note:
    'The first argument is JSON text (`properties`, `person_properties`, a property); further ' +
    'ones are keys, and positions from 1 in arrays. For a single value `properties.a.b` is ' +
    'shorter and also reads documents with numbers beyond 64 bits.',
  functions: [
    define(
      'JSONExtractString',
      '(text, key...) -> text',
      'A string, or empty',
      "JSONExtractString(properties, 'a', 'b')",
    ),
    define(
      'JSONExtractInt',
      '(text, key...) -> integer',
      'A whole number, or 0',
      "JSONExtractInt(properties, 'a')",
    ),
    define(
      'JSONExtractFloat',
      '(text, key...) -> float',
      'A number, or 0',
      "JSONExtractFloat(properties, 'a')",
    ),
    define(
      'JSONExtractBool',
      '(text, key...) -> boolean',
      'A boolean, or false',
      "JSONExtractBool(properties, 'a')",
    ),
    define(
      'JSONExtractRaw',
      '(text, key...) -> text',
      'JSON text of the value, or empty',
      "JSONExtractRaw(properties, 'a')",
    ),
    define(
      'JSONExtractArrayRaw',
      '(text, key...) -> [text]',
      'JSON texts of the items of an array',
      "JSONExtractArrayRaw('[1,2]')",
    ),
    define(
      'JSONExtractKeys',
      '(text, key...) -> [text]',
      'The keys of an object',
      'JSONExtractKeys(properties)',
    ),
    define(
      'JSONExtractKeysAndValuesRaw',
      '(text, key...) -> [(text, text)]',
      'Keys and JSON texts of an object',
      'JSONExtractKeysAndValuesRaw(properties)',
    ),
    define(
      'JSONHas',
      '(text, key...) -> boolean',
      'True if the key exists',
      "JSONHas(properties, 'a')",
    ),
    define(
      'JSONLength',
      '(text, key...) -> integer',
      'Items of an array or keys of an object',
      'JSONLength(properties)',
    ),
    define(
      'JSONType',
      '(text, key...) -> text',
      '`Object`, `Array`, `String`, `Int64`, `Double`, `Bool`, `Null`',
      "JSONType(properties, 'a')",
      {
        engine: 'toString(JSONType($*))',
      },
    ),
    define('isValidJSON', '(text) -> boolean', 'True for valid JSON', 'isValidJSON(properties)'),
  ],
};
