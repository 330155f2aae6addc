import { useState } from 'react';
import type { SyntheticEvent } from 'react';
import type { PluginConfigRow } from '../../server/api/plugin_configs/schema.ts';
import { ChoiceField, SecretField, TextField } from '../form/fields.tsx';
import { LongField } from '../form/long_field.tsx';
import { readValues } from '../form/values.ts';
import type { Values } from '../form/values.ts';
import { Linked } from '../page/text/linked.tsx';
import { askedFields, shownSetting } from './config_fields.ts';
import type { SettingField } from './config_fields.ts';
import { MappingField } from './tool/mapping_field.tsx';

/** Returns the fields to show for the typed values; `typed` gets each change. */
export function useAsked(fields: SettingField[], config: PluginConfigRow | undefined) {
  const [values, setValues] = useState<Values>({});
  const valueOf = (key: string) => {
    const value = values[`config__${key}`];
    if (typeof value === 'string') return value;
    if (config?.secret_keys.includes(key) === true) return 'stored';
    return config === undefined ? undefined : shownSetting(config.config[key]);
  };
  const typed = ({ currentTarget }: SyntheticEvent) => {
    const form = currentTarget.closest('form');
    if (form !== null) setValues((before) => ({ ...before, ...readValues(form) }));
  };
  return { asked: askedFields(fields, valueOf), typed, valueOf };
}

/** The input of one setting. */
export function SettingInput({
  field: { key, label, type, hint, is_required, is_secret, choices, initial },
  config,
  tool,
}: {
  field: SettingField;
  config: PluginConfigRow | undefined;
  /** The plugin as a tool, if it is one, and the data that its mappings need. */
  tool?: Omit<Parameters<typeof MappingField>[0], 'name' | 'stored'> | undefined;
}) {
  const isStored = config?.secret_keys.includes(key) === true;
  const hints = [is_required && 'Required.', hint, is_secret && isStored && 'Empty: it stays.'];
  const common = {
    name: `config__${key}`,
    label,
    hint: <Linked text={hints.filter((one) => typeof one === 'string').join(' ')} />,
  };
  const value = config === undefined ? initial : shownSetting(config.config[key]);
  if (tool !== undefined && key === 'mappings')
    return <MappingField name={common.name} stored={config && value} {...tool} />;
  if (is_secret) return <SecretField {...common} />;
  if (type === 'choice')
    return (
      <ChoiceField
        {...common}
        options={['', ...choices].map((one) => ({ value: one, label: one }))}
        value={value}
      />
    );
  return type === 'json' ? (
    <LongField {...common} defaultValue={value} />
  ) : (
    <TextField {...common} value={value} inputMode="text" />
  );
}
