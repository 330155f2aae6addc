import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** JSON text. */
export const json: FunctionTopic = {
  title: 'JSON',
  note:
    'The first argument is JSON text (`properties`, `person_properties`, a property); further ' +
    'ones are keys, and positions from 1 in arrays. For a single value `properties.a.b` is ' +
    'shorter and also reads documents with numbers beyond 64 bits.',
  functions: readFunctions(`
    JSONExtractString(text, key...) -> text   e.g. JSONExtractString(properties, 'a', 'b')
      A string, or empty
    JSONExtractInt(text, key...) -> integer   e.g. JSONExtractInt(properties, 'a')
      A whole number, or 0
    JSONExtractFloat(text, key...) -> float   e.g. JSONExtractFloat(properties, 'a')
      A number, or 0
    JSONExtractBool(text, key...) -> boolean   e.g. JSONExtractBool(properties, 'a')
      A boolean, or false
    JSONExtractRaw(text, key...) -> text   e.g. JSONExtractRaw(properties, 'a')
      JSON text of the value, or empty
    JSONExtractArrayRaw(text, key...) -> [text]   e.g. JSONExtractArrayRaw('[1,2]')
      JSON texts of the items of an array
    JSONExtractKeys(text, key...) -> [text]   e.g. JSONExtractKeys(properties)
      The keys of an object
    JSONExtractKeysAndValuesRaw(text, key...) -> [(text, text)]
      e.g. JSONExtractKeysAndValuesRaw(properties)
      Keys and JSON texts of an object
    JSONHas(text, key...) -> boolean   e.g. JSONHas(properties, 'a')
      True if the key exists
    JSONLength(text, key...) -> integer   e.g. JSONLength(properties)
      Items of an array or keys of an object
    JSONType(text, key...) -> text   e.g. JSONType(properties, 'a')
      \`Object\`, \`Array\`, \`String\`, \`Int64\`, \`Double\`, \`Bool\`, \`Null\`
      engine: toString(JSONType($*))
    isValidJSON(text) -> boolean   e.g. isValidJSON(properties)
      True for valid JSON
  `),
};
