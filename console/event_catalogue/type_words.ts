import type { CatalogueProperty } from '../../server/api/event_catalogue/schema.ts';

type Kind = CatalogueProperty['types'][number]['type'];

/** The kinds of JSON values in words. */
const kind_words: Record<Kind, string> = {
  null: 'null',
  boolean: 'true or false',
  integer: 'integer',
  long_integer: 'long integer',
  float: 'decimal',
  large_number: 'huge number',
  timestamp: 'date and time',
  text: 'text',
  object: 'object',
  array: 'list',
};

/** Returns the kinds of a property's values, each with its share if there are several. */
export function typeWords({ events, types }: Pick<CatalogueProperty, 'events' | 'types'>): {
  word: string;
  share: string | undefined;
}[] {
  return types.map((one) => ({
    word: kind_words[one.type],
    share: types.length === 1 ? undefined : percent(one.events / events),
  }));
}

/** Returns a share as a percentage, without rounding to 0 % or 100 %. */
export function percent(share: number): string {
  if (share > 0 && share < 0.01) return '< 1 %';
  if (share < 1 && share > 0.99) return '> 99 %';
  return `${Math.round(share * 100)} %`;
}

/** Returns how many values of a property fit its type; null if they were not counted. */
export function fitWords(values: number | null, misfits: number | null): string | null {
  if (values === null || misfits === null) return null;
  if (values === 0) return 'No values yet';
  const all = values.toLocaleString('en');
  if (misfits === 0) return values === 1 ? 'The only value fits' : `All ${all} values fit`;
  const verb = misfits === 1 ? 'does' : 'do';
  return `${misfits.toLocaleString('en')} of ${all} values ${verb} not fit`;
}
