import { events } from './events.ts';
import type { Model } from './model.ts';
import { persons } from './persons.ts';

/** What can be exported, one line each. */
export const models: Record<Model['name'], Model> = {
  events,
  persons,
};
