import { isFields } from '../../../platform/fields.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';
import { storableFault } from '../packages/storable.ts';
import { filterFault } from './filter/filter_fault.ts';
import { address_fields, fixedAddressFault } from './judge_address.ts';
import type { ToolDefinition, ToolDescription, ToolMapping } from './tool.ts';

/** The key beside a mapping's fields that holds the library's sync mode. */
const sync_mode_key = '__segment_internal_sync_mode';

/** Fields by which a tool recognizes a repeated event. */
const key_names = /^(insert|event)_?id$/i;

/**
 * Returns the mapping with its action's default sync mode. It has the event's own id if a tool
 * accepts a deduplication key and the library sets none, and a text where one is required.
 */
function completed(
  { sync_mode, fields }: ToolDescription['actions'][string],
  mapping: ToolMapping['mapping'],
): ToolMapping['mapping'] {
  const keys = Object.entries(fields).flatMap(([name, { type }]) =>
    key_names.test(name) && type === 'string' && (mapping[name] ?? null) === null
      ? [[name, { '@path': '$.messageId' }] as const]
      : [],
  );
  const { text } = fields;
  const wantsText = text?.required === true && (mapping['text'] ?? null) === null;
  const message = wantsText ? { text: { '@template': '{{event}}: {{userId}}' } } : {};
  const mode = sync_mode === undefined ? {} : { [sync_mode_key]: sync_mode };
  return { ...mode, ...mapping, ...message, ...Object.fromEntries(keys) };
}

/**
 * Returns the mappings that the destination proposes for events; many propose none, and a few name
 * a missing action.
 */
export function presetsOf(
  { presets, actions }: Pick<ToolDescription, 'presets' | 'actions'>,
  wanted = 'automatic',
): ToolMapping[] {
  return presets.flatMap(({ type, name, partnerAction = '', subscribe, mapping = {} }) => {
    const action = Object.hasOwn(actions, partnerAction) ? actions[partnerAction] : undefined;
    if (type !== wanted || action === undefined || subscribe === undefined) return [];
    const all = completed(action, mapping);
    return [{ name: name ?? partnerAction, partnerAction, subscribe, mapping: all }];
  });
}

/** Returns mappings that may be added: by purpose, and one for each action with its defaults. */
export function templatesOf({ actions, presets }: ToolDescription): ToolMapping[] {
  const ready = presetsOf({ actions, presets }, 'template');
  const plain = Object.entries(actions).map(([partnerAction, action]) => {
    const values = Object.entries(action.fields).flatMap(([key, { default: value }]) =>
      value === undefined ? [] : [[key, value] as const],
    );
    return {
      name: action.title ?? partnerAction,
      partnerAction,
      subscribe: action.subscribe ?? 'type = "track"',
      mapping: completed(action, Object.fromEntries(values)),
    };
  });
  return [...ready, ...plain];
}

/** Reads the mappings from a setting's text; returns a sentence for an invalid one. */
export function readMappings(
  text: unknown,
  { actions }: Pick<ToolDefinition, 'actions'>,
): ToolMapping[] | string {
  const list = typeof text === 'string' ? parseJson(text) : undefined;
  if (!Array.isArray(list) || list.length === 0)
    return 'Must be a list with at least one mapping: {name, partnerAction, subscribe, mapping}.';
  for (const [at, one] of list.entries()) {
    const fault = mappingFault(one, actions);
    if (fault !== undefined) return `Mapping ${at + 1} ${fault}`;
  }
  const names = (list as ToolMapping[]).map(mappingName);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined
    ? (list as ToolMapping[])
    : `Two mappings have the name ${twice}. Give each a name of its own.`;
}

/**
 * Does the same as `readMappings` for mappings that are saved or tried: a filter that is invalid or
 * matches no event is a fault too, and so is an address that cannot be sent to.
 */
export function soundMappings(
  text: unknown,
  tool: Pick<ToolDefinition, 'actions' | 'directory'>,
): ToolMapping[] | string {
  const read = readMappings(text, tool);
  if (typeof read === 'string') return read;
  const field = address_fields[tool.directory];
  for (const [at, { subscribe, partnerAction, mapping }] of read.entries()) {
    const fault = filterFault(subscribe);
    if (fault !== undefined) return `Mapping ${at + 1}: ${fault}`;
    const action = tool.actions[partnerAction]!;
    if (field === undefined || !Object.hasOwn(action.fields, field)) continue;
    const unread = fixedAddressFault(mapping[field]);
    if (unread !== undefined) return `Mapping ${at + 1}, ${shownField(field, action)}: ${unread}`;
  }
  return read;
}

/** Returns the name of a mapping for messages. */
export function mappingName({ name, partnerAction }: ToolMapping): string {
  return name ?? partnerAction;
}

/** Returns the fault of a mapping, as the end of a sentence; undefined: none. */
export function mappingFault(one: unknown, actions: ToolDefinition['actions']): string | undefined {
  if (!isFields(one)) return 'must be an object.';
  const { name = '', partnerAction, subscribe, mapping, sample_percent = 100, consent = 'x' } = one;
  if (typeof name !== 'string') return 'needs a text as its name.';
  if (typeof partnerAction !== 'string' || !Object.hasOwn(actions, partnerAction))
    return `needs one of these as partnerAction: ${Object.keys(actions).join(', ')}.`;
  if (typeof subscribe !== 'string' || subscribe.trim() === '')
    return 'needs subscribe: which events it takes, as in type = "track".';
  if (!isFields(mapping)) return 'needs mapping: an object of fields.';
  const unstorable = storableFault(mapping, Infinity);
  if (unstorable !== undefined) return `has a mapping that ${unstorable}.`;
  if (typeof sample_percent !== 'number' || !(sample_percent > 0 && sample_percent <= 100))
    return 'needs a number above 0 and up to 100 as sample_percent.';
  if (typeof consent !== 'string' || consent.trim() === '')
    return 'needs the name of a category as consent.';
  const action = actions[partnerAction]!;
  const missing = missingFields(action, mapping).map((key) => shownField(key, action));
  return missing.length === 0 ? undefined : `lacks ${missing.join(', ')}.`;
}

/** Returns the name of an action's field for people and mappings. */
export function shownField(key: string, { fields }: ToolDefinition['actions'][string]): string {
  const { label = key } = fields[key]!;
  return label === key ? key : `${label} (${key})`;
}

/** Returns the names of required fields without a value. */
export function missingFields(
  { fields }: ToolDefinition['actions'][string],
  values: Record<string, unknown>,
): string[] {
  return Object.entries(fields)
    .filter(([key, { required }]) => required === true && (values[key] ?? null) === null)
    .map(([key]) => key);
}
