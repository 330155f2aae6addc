import { isFields } from '../../../platform/fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import {
  planned_properties_max,
  planned_text_length_max,
  planned_values_max,
} from './tracking_plan.ts';
import type { PlannedEvent } from './tracking_plan.ts';

/** An event of another tool's plan, with the rules that our plans have too. */
export type ImportedEvent = Omit<PlannedEvent, 'mode'> & { description: string };

/** A part of the file that our plans do not have; null stands for the whole file or event. */
export type LeftOut = { event: string | null; property: string | null; detail: string };

/** The result of reading a file. */
export type ImportedPlan = { events: ImportedEvent[]; left_out: LeftOut[] };

type Property = PlannedEvent['properties'][number];
type Tell = (event: string | null, property: string | null, detail: string) => void;

const name_length_max = 200;
const description_length_max = 2_000;

/**
 * Reads a tracking plan with a JSON Schema for each event, as Segment, RudderStack and Avo export
 * it: a list of rules, or an object of schemas by event. Undefined for anything else. Omits rules
 * that a plan cannot compare, and lists them by name.
 */
export function readTrackingPlan(document: unknown): ImportedPlan | undefined {
  const rules = rulesIn(document);
  if (rules === undefined) return undefined;
  const left_out: LeftOut[] = [];
  const tell: Tell = (event, property, detail) => void left_out.push({ event, property, detail });
  const events = new Map<string, ImportedEvent>();
  for (const rule of rules) {
    const read = readRule(rule, tell, (name) => events.has(name));
    if (read !== undefined) events.set(read.event, read);
  }
  return { events: [...events.values()], left_out };
}

/** Finds the rules: in an API's answer, in a plan, or by the names of events. */
function rulesIn(document: unknown): Fields[] | undefined {
  if (Array.isArray(document)) return document.every(isFields) ? document : undefined;
  if (!isFields(document)) return undefined;
  for (const name of ['data', 'trackingPlan', 'tracking_plan', 'rules', 'events'])
    if (isFields(document[name]) || Array.isArray(document[name])) {
      const found = rulesIn(document[name]);
      const others = name === 'rules' ? othersBeside(document[name]) : [];
      return found === undefined ? undefined : [...found, ...others];
    }
  if (schemaOf(document) !== undefined) return [document];
  const named = Object.entries(document);
  return named.length > 0 && named.every(([, rule]) => isFields(rule))
    ? named.map(([name, rule]) => ({ name, jsonSchema: rule }))
    : undefined;
}

/** Returns the rules of calls that are no events, which stand beside the list. */
function othersBeside(rules: unknown): Fields[] {
  if (!isFields(rules) || !Array.isArray(rules['events'])) return [];
  return Object.entries(rules).flatMap(([type, rule]) =>
    type !== 'events' && isFields(rule) && Object.keys(rule).length > 0
      ? [{ type, jsonSchema: rule }]
      : [],
  );
}

function schemaOf(rule: Fields): Fields | undefined {
  for (const name of ['jsonSchema', 'json_schema', 'rules'])
    if (isFields(rule[name])) return rule[name];
  return isFields(rule['properties']) ? rule : undefined;
}

function readRule(
  rule: Fields,
  tell: Tell,
  isKnown: (name: string) => boolean,
): ImportedEvent | undefined {
  const schema = schemaOf(rule);
  const type = schema === rule ? undefined : textOf(rule['type'] ?? rule['eventType']);
  const name = textOf(rule['key'] ?? rule['name'] ?? rule['title'] ?? schema?.['title']);
  const isTrack = type === undefined || type.toLowerCase() === 'track';
  if (!isTrack) {
    tell(name ?? null, null, `Rules of the call \`${type}\` define no event.`);
    return undefined;
  }
  const problem =
    nameProblem(name) ??
    (isKnown(name!) ? 'The file has this event twice.' : undefined) ??
    (schema === undefined ? 'It has no JSON Schema.' : undefined);
  if (problem !== undefined || name === undefined || schema === undefined) {
    tell(name?.slice(0, name_length_max) ?? null, null, problem ?? '');
    return undefined;
  }
  const inner = propertiesIn(schema, (property, detail) => tell(name, property, detail));
  const { properties, other_properties } = readProperties(inner, (property, detail) =>
    tell(name, property, detail),
  );
  const description = textOf(rule['description'] ?? schema['description']) ?? '';
  return {
    event: name,
    description: description.trim().slice(0, description_length_max).toWellFormed(),
    properties,
    other_properties,
  };
}

function nameProblem(name: string | undefined): string | undefined {
  if (name === undefined) return 'It has no name.';
  if (name.length > name_length_max) return `Its name has over ${name_length_max} characters.`;
  return /[\p{Cc}\p{Cs}]/u.test(name) ? 'Its name has control characters.' : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

type TellProperty = (property: string | null, detail: string) => void;

const envelope = new Set(['context', 'traits', 'properties']);

/** Returns the schema of the properties, which the schema of the whole call may contain. */
function propertiesIn(schema: Fields, tell: TellProperty): Fields {
  const outer = isFields(schema['properties']) ? schema['properties'] : {};
  const { properties } = outer;
  if (!isFields(properties) || Object.keys(outer).some((name) => !envelope.has(name)))
    return schema;
  for (const name of ['context', 'traits'])
    if (isFields(outer[name]) && keywordsOf(outer[name]).length > 0)
      tell(null, `Rules of \`${name}\` are not compared.`);
  return properties;
}

function readProperties(schema: Fields, tell: TellProperty) {
  const rules = new Map(Object.entries(isFields(schema['properties']) ? schema['properties'] : {}));
  const required = new Set(
    Array.isArray(schema['required'])
      ? schema['required'].filter((name) => typeof name === 'string')
      : [],
  );
  for (const name of required) if (!rules.has(name)) rules.set(name, {});
  const others = keywordsOf(schema).filter((name) => !read_keywords.has(name));
  if (others.length > 0)
    tell(null, `Sluice does not check these parts of the schema: ${codes(others, '')}.`);
  const properties: Property[] = [];
  for (const [name, rule] of rules) {
    const problem =
      nameProblem(name) ??
      (name.trim() === name && name !== '' ? undefined : 'Its name begins or ends with a space.') ??
      (properties.length < planned_properties_max
        ? undefined
        : `An event of a plan has at most ${planned_properties_max} properties.`);
    if (problem === undefined) properties.push(readProperty(name, rule, required.has(name), tell));
    else tell(name.slice(0, name_length_max).toWellFormed(), problem);
  }
  const other_properties: PlannedEvent['other_properties'] =
    schema['additionalProperties'] === false ? 'report' : 'allow';
  return { properties, other_properties };
}

const read_keywords = new Set(['properties', 'required', 'additionalProperties']);

const type_names: Partial<Record<string, Property['type']>> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'boolean',
  array: 'list',
  object: 'object',
};

function readProperty(name: string, given: unknown, required: boolean, tell: TellProperty) {
  const rule = isFields(given) ? given : {};
  const types = [rule['type'] ?? []].flat().map(String);
  const kinds = new Set(types.filter((type) => type !== 'null'));
  if (kinds.has('number')) kinds.delete('integer');
  const [first] = kinds;
  const type = kinds.size === 1 ? type_names[first!] : kinds.size === 0 ? 'any' : undefined;
  if (type === undefined) tell(name, `The types ${codes([...kinds], '')} become any value.`);
  const is_nullable = types.includes('null');
  if (required && is_nullable) tell(name, 'It may be null, so it is not required here.');
  const values = valuesOf(rule['enum']);
  const keywords = keywordsOf(rule).filter((one) => one !== 'enum' || values === undefined);
  if (keywords.length > 0) tell(name, `${codes(keywords)} not compared.`);
  return {
    name,
    type: type ?? 'any',
    required: required && !is_nullable,
    ...(values === undefined ? {} : { values }),
  };
}

/**
 * Returns the values of an `enum` without null, which is no value; undefined if one is not simple.
 */
function valuesOf(given: unknown): Property['values'] {
  if (!Array.isArray(given)) return undefined;
  const values = [...new Set(given)].filter((value) => value !== null);
  const isPlain = values.length > 0 && values.length <= planned_values_max;
  return isPlain && values.every(isPlannedValue) ? values : undefined;
}

function isPlannedValue(value: unknown): value is string | number | boolean {
  if (typeof value === 'string') return value.length <= planned_text_length_max;
  return typeof value === 'number' || typeof value === 'boolean';
}

/** Keywords that only describe, and values that restrict nothing. */
const annotations =
  /^(\$id|\$schema|\$comment|id|title|type|description|default|examples?|deprecated|readOnly|writeOnly)$/;

function keywordsOf(schema: Fields): string[] {
  return Object.entries(schema)
    .filter(([name, value]) => !annotations.test(name) && !isOpen(value))
    .map(([name]) => name);
}

function isOpen(value: unknown): boolean {
  if (value === true || value === null || value === undefined) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function codes(names: string[], verb = names.length === 1 ? ' is' : ' are'): string {
  return `${names.map((name) => `\`${name.slice(0, 60).toWellFormed()}\``).join(', ')}${verb}`;
}
