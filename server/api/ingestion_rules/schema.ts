import { Type } from 'typebox';
import type { Static } from 'typebox';
import { rule_actions, rule_targets, rules_max } from '../../engine/ingest/rules/rule.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { queryInstant } from '../../platform/http/lists/query_instant.ts';
import { ManagedBy } from '../managed/schema.ts';

const property_length_max = 200;

const fields = {
  name: lineOfText(100, 'The purpose of the rule.'),
  events: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    maxItems: 100,
    description:
      'Names of events that the rule applies to. A `*` at the end matches all names with ' +
      'this beginning. Empty (default): all events.',
  }),
  action: Type.Enum([...rule_actions], {
    description:
      '`drop_event` does not store the event. The others change one property: ' +
      '`drop_property`, `hash_property` (HMAC-SHA-256 with a key of the project), ' +
      '`rename_property`, `set_property` (a constant).',
  }),
  property: nullable(
    lineOfText(
      property_length_max,
      'Name of the property. To drop or hash, it may end with `*`, and `context.ip` reaches ' +
        'into objects. Null for `drop_event`. `uuid`, `timestamp` and `distinct_id` cannot be ' +
        'changed.',
    ),
  ),
  target: Type.Enum([...rule_targets], {
    description:
      'Place of the property: of the `event` (`properties`), of the `person` (`$set`, ' +
      '`$set_once`, and names in `$unset`), of a `group` (`$group_set`), or `any` of them. ' +
      'Default `any`, for `set_property` `event`.',
  }),
  new_name: nullable(
    lineOfText(
      property_length_max,
      'The new name of `rename_property`. If the event already has it, both properties stay.',
    ),
  ),
  value: nullable(
    Type.Unsafe<string | number | boolean>({
      type: ['string', 'number', 'boolean'],
      maxLength: 1_000,
      description: 'The constant of `set_property`: text, a number, true or false.',
    }),
  ),
  only_if_missing: flag(
    'For `set_property`: an event with the property keeps its own value. Default false.',
  ),
  enabled: flag('False: the rule is off. Default true.'),
  position: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Rules apply by ascending position, and by age if positions are equal. Default: after ' +
      'the last rule. `order/` renumbers all.',
  }),
};

/** A rule in answers. */
export const IngestionRule = titled('IngestionRule', {
  id: uuid(),
  ...fields,
  name: Type.String(),
  property: nullable(Type.String()),
  new_name: nullable(Type.String()),
  created_at: instant(),
  updated_at: instant(),
  managed_by: ManagedBy,
});
/** A rule as SELECT returns it. */
export type IngestionRuleRow = Static<typeof IngestionRule>;

const changes = Type.Partial(Type.Object(fields)).properties;
/** Body of POST and PUT; a PUT keeps absent fields. */
export const IngestionRuleCreate = Type.Object({
  ...changes,
  name: fields.name,
  action: fields.action,
});
/** Body of PATCH: only the sent fields change. */
export const IngestionRulePatch = Type.Object(changes);
/** The fields that people set. */
export type IngestionRuleFields = Pick<IngestionRuleRow, keyof typeof fields>;

/** Body of `order/`. */
export const IngestionRuleOrder = Type.Object({
  ids: Type.Array(uuid(), {
    maxItems: rules_max,
    description: 'The ids of all rules of the project, in their new order.',
  }),
});
/** The rules in their new order. */
export const OrderedRules = titled('OrderedIngestionRules', { results: Type.Array(IngestionRule) });

/** The query of the counts. */
export const RuleCountsQuery = Type.Object({
  after: Type.Optional(
    queryInstant('Only hours that begin at or after this instant; default a day before `before`.'),
  ),
  before: Type.Optional(queryInstant('Only hours that begin before this instant; default now.')),
});
/** Events that rules changed or dropped. */
export const RuleCounts = titled('IngestionRuleCounts', {
  after: instant('The counted range.'),
  before: instant('Its end (exclusive).'),
  results: Type.Array(
    Type.Object({
      source: text(
        'The id of a rule, which may be deleted, or `user_agent` for properties that ' +
          'Sluice read from a user agent.',
      ),
      day: instant('The day (UTC).'),
      events: whole('Events that it changed or dropped.'),
    }),
    { description: 'Newest day first.' },
  ),
});

/** Body of `try/`. */
export const TriedEvent = Type.Object({
  event: Type.String({
    minLength: 1,
    maxLength: 100_000,
    description: 'One event as JSON text, in the form of `events/`. Numbers stay as written.',
  }),
  user_agent: Type.Optional(
    lineOfText(1_000, 'The `User-Agent` of the browser that would send it.', 0),
  ),
});
/** The result that the event would have. */
export const TriedOutcome = titled('TriedEvent', {
  outcome: Type.Enum(['stored', 'dropped', 'refused']),
  event: nullable(text('The stored event as JSON text; null: nothing is stored.')),
  changed_by: Type.Array(Type.String(), {
    description: 'Ids of the rules that change or drop it, and `user_agent`, in order.',
  }),
  off_plan: nullable(text('How it differs from the tracking plan; null: it does not.')),
  problems: Type.Array(Type.Object({ attr: nullable(Type.String()), detail: Type.String() }), {
    description: 'Why it is refused.',
  }),
});
