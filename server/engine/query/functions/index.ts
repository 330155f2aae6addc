import { aggregates } from './aggregates.ts';
import { arrays } from './arrays.ts';
import { conditions } from './conditions.ts';
import { conversions } from './conversions.ts';
import { dates } from './dates.ts';
import type { FunctionTopic } from './definition.ts';
import { json } from './json.ts';
import { numbers } from './numbers.ts';
import { texts } from './texts.ts';
import { urls } from './urls.ts';
import { windows } from './windows.ts';

/** Every function of the language, by topic; no other can be called. */
export const functionTopics: FunctionTopic[] = [
  conditions,
  numbers,
  texts,
  dates,
  conversions,
  json,
  arrays,
  urls,
  aggregates,
  windows,
];
