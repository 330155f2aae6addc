import { events } from './events.ts';
import { groups } from './groups.ts';
import type { Model, ModelName } from './model.ts';
import { person_distinct_ids } from './person_distinct_ids.ts';
import { persons } from './persons.ts';
import { sessions } from './sessions.ts';

/** All models that can be exported. */
export const models: Record<ModelName, Model> = {
  events,
  persons,
  person_distinct_ids,
  sessions,
  groups,
};
