import { Type } from 'typebox';
import type { Static } from 'typebox';
import type * as filters from '../../../engine/plugins/tools/filter/filter.ts';
import { lineOfText } from '../../../platform/line_of_text.ts';
import { nullable } from '../../../platform/nullable.ts';
import { PluginTryOut, anything } from '../try_out/schema.ts';

/** A condition of a filter, or a group of them. */
export type Filter = filters.Filter;
/** A condition on one value of an event. */
export type FilterCondition = filters.FilterCondition;
/** The filter of a mapping: conditions of which all have to hold, or any. */
export type FilterGroup = filters.FilterGroup;
/** The comparison of a condition. */
export type FilterOperator = filters.FilterOperator;

const { event_uuid, event } = PluginTryOut.properties;

/** Body of `preview/`. */
export const MappingPreviewBody = Type.Object({
  plugin: Type.Integer({ description: 'The tool, a plugin of the catalogue.' }),
  mappings: Type.Array(anything('A mapping as the setting `mappings` has it.'), { maxItems: 200 }),
  sends_dollar: Type.Optional(
    Type.Boolean({ description: 'True: names that begin with `$` are sent, too.' }),
  ),
  allowed_hosts: Type.Optional(
    Type.Array(lineOfText({ minLength: 1, maxLength: 253 }), {
      maxItems: 100,
      description: 'The hosts that the tool may reach. Without them no host is judged.',
    }),
  ),
  event_uuid,
  event,
});
export type MappingPreviewBody = Static<typeof MappingPreviewBody>;

/** A tuple of the library is none in OpenAPI 3.1. */
const pair = Type.Unsafe<[string, string]>({
  type: 'array',
  items: { type: 'string' },
  minItems: 2,
  maxItems: 2,
});

const MappingPreview = Type.Object(
  {
    outcome: Type.Enum(['sent', 'waits', 'filtered', 'invalid'], {
      description:
        '`waits`: the host of its address is not allowed. `filtered`: filter, consent or sample ' +
        'keep the event out. `invalid`: the mapping is wrong, has no value for what the tool ' +
        'requires, or leads to an address that Sluice refuses.',
    }),
    reason: nullable(Type.String({ description: 'Why it would not be sent.' })),
    filter: nullable(
      Type.Unsafe<FilterGroup>({
        type: 'object',
        additionalProperties: true,
        description:
          'The filter: `match` (all, any) and `filters`, each of them such a group, or `path`, ' +
          '`operator` and `value`. Null: it cannot be read.',
      }),
    ),
    filter_fault: nullable(Type.String({ description: 'What is wrong with the filter.' })),
    fields: nullable(
      Type.String({ description: 'The fields as the code of the tool gets them, as JSON text.' }),
    ),
    request: nullable(
      Type.Object(
        {
          method: Type.String(),
          url: Type.String(),
          headers: Type.Array(pair),
          body: nullable(Type.String()),
        },
        {
          description:
            'The request of the tool "HTTP request", without its signature, and with SECRET in ' +
            'the place of the secret.',
        },
      ),
    ),
  },
  { title: 'PluginMappingPreview' },
);

/** The answer of `preview/`. */
export const MappingPreviews = Type.Object(
  {
    event: Type.String({
      description: 'The event as the mappings see it, as JSON text: paths begin here.',
    }),
    results: Type.Array(MappingPreview, { description: 'One for each mapping, in their order.' }),
  },
  { title: 'PluginMappingPreviews' },
);
/** The answer of `preview/`. */
export type MappingPreviews = Static<typeof MappingPreviews>;
