import { Type } from 'typebox';
import type { Static } from 'typebox';
import { text, titled, whole } from '../../../platform/http/schemas.ts';
import { lineOfText } from '../../../platform/line_of_text.ts';
import { nullable } from '../../../platform/nullable.ts';
import { PluginConfigPatch } from '../schema.ts';
import { anything } from '../try_out/schema.ts';

const { config, allowed_hosts } = PluginConfigPatch.properties;

/** Body of `choices/`. */
export const PluginChoicesBody = Type.Object({
  plugin: whole('The tool, a plugin of the catalogue.'),
  plugin_config: Type.Optional(
    whole(
      'A config of the tool: what `config` and `allowed_hosts` leave out is taken from it, ' +
        'secrets and the tokens of a connection included.',
    ),
  ),
  config,
  allowed_hosts,
  action: lineOfText(200, 'The `partnerAction` of the mapping.'),
  field: Type.String({
    maxLength: 400,
    pattern: '^[^.\\[\\]]+(\\.\\[\\d{1,4}\\])?(\\.[^.\\[\\]]+)?$',
    wrong_detail: 'Must be a field such as list_id, properties.__keys__ or items.[0].kind.',
    description:
      'A field that is `dynamic` in `destination.json`. `details.kind` is a part of an object, ' +
      '`items.[0].kind` of the first object of a list, and `properties.__keys__` asks for the ' +
      'keys of an object.',
  }),
  mapping: Type.Optional(
    anything('The fields of the mapping so far. Values that an event decides are left out.'),
  ),
  page: Type.Optional(lineOfText(1_000, 'The `next_page` of the answer before.')),
});
export type PluginChoicesBody = Static<typeof PluginChoicesBody>;

/** The answer of `choices/`. */
export const PluginChoices = titled('PluginChoices', {
  choices: Type.Array(
    Type.Object({
      value: text('The value for the mapping.'),
      label: text('Its name at the tool.'),
      description: nullable(Type.String()),
    }),
  ),
  next_page: nullable(text('Send it as `page` for more choices; null: there are none.')),
  omitted: whole('Choices above 5,000, which are left out.'),
  error: nullable(
    Type.Object(
      {
        code: Type.Enum(
          [
            'setting_missing',
            'denied',
            'host_not_allowed',
            'timeout',
            'limited',
            'not_ready',
            'refused',
          ],
          {
            description:
              '`setting_missing`: fill in the settings that `detail` names. `denied`: the tool ' +
              'refuses the key. `host_not_allowed`: allow `hosts`. `timeout`: no answer came. ' +
              '`limited`: the tool wants fewer requests. `not_ready`: the tool is not ' +
              'connected, or its package is missing. `refused`: the tool says why, for ' +
              'instance which other field comes first.',
          },
        ),
        detail: text('What happened and what to do. Secrets are masked.'),
        hosts: Type.Array(Type.String()),
      },
      { description: 'Why there are no choices.' },
    ),
  ),
});
/** The answer of `choices/`. */
export type PluginChoices = Static<typeof PluginChoices>;
