import { createHmac } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isJsonObject } from '../parse/exact_json.ts';
import type { JsonObject } from '../parse/exact_json.ts';
import { fixed_names, holder_names, matches, patternOf } from './rule.ts';
import type { Rule } from './rule.ts';

/** The result of the rules: the properties to store, or the rule that dropped the event. */
export type Ruled =
  | { properties: JsonObject; changed_by: string[]; dropped_by?: undefined }
  | { dropped_by: string };

const person_holders = ['$set', '$set_once'];
const holders_of: Record<Rule['target'], { is_event: boolean; holders: readonly string[] }> = {
  any: { is_event: true, holders: [...person_holders, '$group_set'] },
  event: { is_event: true, holders: [] },
  person: { is_event: false, holders: person_holders },
  group: { is_event: false, holders: ['$group_set'] },
};

/** Changes an object in place; returns true if it changed. */
type Change = (values: JsonObject) => boolean;

/**
 * Applies the rules in their order. Does not change its arguments: changed objects are copies, and
 * numbers stay as they were sent. The values are nested at most 100 deep.
 */
export function applyRules(
  rules: readonly Rule[],
  event: string,
  given: JsonObject,
  hash_key: KeyObject | undefined,
): Ruled {
  const properties = { ...given };
  const changed_by: string[] = [];
  for (const rule of rules) {
    if (rule.action === 'drop_event') return { dropped_by: rule.id };
    if (rule.action === 'set_property' ? set(rule, event, properties) : change(rule, properties))
      changed_by.push(rule.id);
  }
  return { properties, changed_by };

  function change(rule: Rule, values: JsonObject): boolean {
    const { is_event, holders } = holders_of[rule.target];
    const changeOne = changeOf(rule, hash_key);
    let is_changed = is_event && changeOne(values);
    for (const holder of holders) {
      const inner = ownObject(values, holder);
      if (inner === undefined) continue;
      const copy = { ...inner };
      if (!changeOne(copy)) continue;
      values[holder] = copy;
      is_changed = true;
    }
    if (rule.action === 'rename_property' && holders.includes('$set'))
      is_changed = renameUnset(rule, values) || is_changed;
    return is_changed;
  }
}

function changeOf(rule: Rule, hash_key: KeyObject | undefined): Change {
  const name = rule.property!;
  switch (rule.action) {
    case 'rename_property':
      return (values) => rename(values, name, rule.new_name!);
    case 'hash_property':
      return (values) => eachNamed(values, name, (at, key) => hashAt(at, key, hash_key!));
    default:
      return (values) => eachNamed(values, name, (at, key) => delete at[key]);
  }
}

/**
 * Calls back for each property that matches the name: exactly, by the prefix before a final `*`, or
 * by the path between dots. Copies the objects on the path.
 */
function eachNamed(
  values: JsonObject,
  written: string,
  change: (at: JsonObject, key: string) => boolean,
): boolean {
  const pattern = patternOf(written);
  if (pattern.is_prefix) {
    const keys = Object.keys(values).filter(
      (key) => matches(pattern, key) && !fixed_names.includes(key),
    );
    return keys.map((key) => change(values, key)).includes(true);
  }
  if (Object.hasOwn(values, written)) return change(values, written);
  const [first, ...path] = written.split('.');
  if (path.length === 0 || ownObject(values, first!) === undefined) return false;
  return changeAt(values, [first!, ...path], change);
}

function changeAt(
  values: JsonObject,
  [key, ...path]: string[],
  change: (at: JsonObject, key: string) => boolean,
): boolean {
  if (path.length === 0) return Object.hasOwn(values, key!) && change(values, key!);
  const inner = ownObject(values, key!);
  if (inner === undefined) return false;
  const copy = { ...inner };
  if (!changeAt(copy, path, change)) return false;
  values[key!] = copy;
  return true;
}

/** Null, empty texts, lists and objects have no hash. */
function hashAt(at: JsonObject, key: string, hash_key: KeyObject): boolean {
  const value = at[key];
  if (value === undefined || value === null || value === '' || holder_names.includes(key))
    return false;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  at[key] = createHmac('sha256', hash_key).update(text).digest('hex');
  return true;
}

/** If the new name exists, both properties stay, so no value is lost. */
function rename(values: JsonObject, name: string, new_name: string): boolean {
  if (!Object.hasOwn(values, name) || Object.hasOwn(values, new_name)) return false;
  values[new_name] = values[name];
  delete values[name];
  return true;
}

function renameUnset({ property, new_name }: Rule, values: JsonObject): boolean {
  const { $unset: unset } = values;
  if (!Array.isArray(unset) || !unset.includes(property)) return false;
  values['$unset'] = unset.map((name: unknown) => (name === property ? new_name : name));
  return true;
}

function set(rule: Rule, event: string, properties: JsonObject): boolean {
  const { target, property, value } = rule;
  if (target === 'group' && event !== '$groupidentify') return false;
  const holder = target === 'person' ? '$set' : target === 'group' ? '$group_set' : undefined;
  const values = holder === undefined ? properties : { ...ownObject(properties, holder) };
  if (Object.hasOwn(values, property!))
    if (rule.only_if_missing || values[property!] === value) return false;
  values[property!] = value;
  if (holder !== undefined) properties[holder] = values;
  return true;
}

function ownObject(values: JsonObject, key: string): JsonObject | undefined {
  const inner = Object.hasOwn(values, key) ? values[key] : undefined;
  return isJsonObject(inner) ? inner : undefined;
}
