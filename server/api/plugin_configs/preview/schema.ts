import { Type } from 'typebox';
import type { Static } from 'typebox';
import type * as filters from '../../../engine/plugins/tools/filter/filter.ts';
import { flag, text, titled, whole } from '../../../platform/http/schemas.ts';
import { lineOfText } from '../../../platform/line_of_text.ts';
import { nullable } from '../../../platform/nullable.ts';
import { PluginTryOut, anything } from '../try_out/schema.ts';

/** A condition of a filter, or a group of them. */
export type Filter = filters.Filter;
/** A condition on one value of an event. */
export type FilterCondition = filters.FilterCondition;
/** The filter of a mapping: conditions that must all be true, or any of them. */
export type FilterGroup = filters.FilterGroup;
/** The comparison of a condition. */
export type FilterOperator = filters.FilterOperator;

const { event_uuid, event } = PluginTryOut.properties;

/** Body of `preview/`. */
export const MappingPreviewBody = Type.Object({
  plugin: whole('The tool, a plugin of the catalogue.'),
  mappings: Type.Array(anything('A mapping in the form of the setting `mappings`.'), {
    maxItems: 200,
  }),
  sends_dollar: Type.Optional(flag('True: names that begin with `$` are also sent.')),
  allowed_hosts: Type.Optional(
    Type.Array(lineOfText(253), {
      maxItems: 100,
      description: 'The hosts that the tool may reach. Without them, hosts are not checked.',
    }),
  ),
  event_uuid,
  event,
});
export type MappingPreviewBody = Static<typeof MappingPreviewBody>;

/** OpenAPI 3.1 does not understand the library's tuples. */
const pair = Type.Unsafe<[string, string]>({
  type: 'array',
  items: { type: 'string' },
  minItems: 2,
  maxItems: 2,
});

const MappingPreview = titled('PluginMappingPreview', {
  outcome: Type.Enum(['sent', 'waits', 'filtered', 'invalid'], {
    description:
      '`waits`: the host of its address is not allowed. `filtered`: filter, consent or ' +
      'sample exclude the event. `invalid`: the mapping is invalid, has no value for a ' +
      'required field, or leads to an address that Sluice refuses.',
  }),
  reason: nullable(text('Why it would not be sent.')),
  filter: nullable(
    Type.Unsafe<FilterGroup>({
      type: 'object',
      additionalProperties: true,
      description:
        'The filter: `match` (all, any) and `filters`, each of them another group, or ' +
        '`path`, `operator` and `value`. Null: it is invalid.',
    }),
  ),
  filter_fault: nullable(text('The fault of the filter.')),
  fields: nullable(text("The fields that the tool's code gets, as JSON text.")),
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
          'The request of the tool "HTTP request", without its signature, and with SECRET ' +
          'instead of the secret.',
      },
    ),
  ),
});

/** The answer of `preview/`. */
export const MappingPreviews = titled('PluginMappingPreviews', {
  event: text('The event in the form that mappings read, as JSON text; paths start here.'),
  results: Type.Array(MappingPreview, { description: 'One result for each mapping, in order.' }),
});
export type MappingPreviews = Static<typeof MappingPreviews>;
