import type { CatalogueItem } from '../../server/api/plugins/schema.ts';
import type { Static } from 'typebox';

/** An entry of the server's catalogue. */
export type Entry = Static<typeof CatalogueItem>;

/** The purpose of the tools of a category, in words. */
export const category_names: Record<NonNullable<Entry['category']>, string> = {
  advertising: 'Advertising and attribution',
  analytics: 'Analytics',
  billing: 'Billing and revenue',
  crm: 'CRM and sales',
  data: 'Data and automation',
  experiments: 'Experiments and personalization',
  guides: 'Guides and onboarding',
  loyalty: 'Loyalty and referrals',
  messaging: 'Messages and campaigns',
  support: 'Support and feedback',
};

/** Returns the entries of a category, or of all for '', that contain all words of a search. */
export function foundEntries(entries: readonly Entry[], search: string, category: string): Entry[] {
  const words = search.toLowerCase().split(/\s+/);
  return entries.filter((entry) => {
    const purpose = entry.category === null ? '' : category_names[entry.category];
    const text = `${entry.name} ${entry.description} ${purpose}`.toLowerCase();
    return (category === '' || entry.category === category) && words.every((w) => text.includes(w));
  });
}
