import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { widens } from '../../server/engine/model/schema/property_type.ts';
import type { PropertyType } from '../../server/engine/model/schema/property_type.ts';
import type { Sent } from './campaign.ts';
import { propertiesOf, takes } from './model.ts';

/** Number of schemas, and of events of each. */
const schemas_max = 10;
const events_max = 5_000;

/** The files of a folder with real events, and the properties and the kind of each line. */
const files: Record<string, (line: string) => [kind: string, properties: string]> = {
  'github-events-2021-07-21.ndjson.gz': (line) => {
    const properties = propertiesOf(line);
    return [`GitHub ${properties.get('type')}`, `{${flattened(properties).join(',')}}`];
  },
  'wikipedia-edits-2015-09-12.ndjson.gz': (line) => ['Wikipedia', line],
  'web-analytics-hits.ndjson.gz': (line) => {
    const { payload, ...others } = JSON.parse(line) as Record<string, unknown>;
    const properties = propertiesOf(payload as string);
    return [
      'web hits',
      `{${pairsOf(properties)
        .concat(pairsOf(propertiesOf(JSON.stringify(others))))
        .join(',')}}`,
    ];
  },
};

const pairsOf = (properties: Map<string, string>): string[] =>
  [...properties].map(([name, value]) => `${JSON.stringify(name)}:${value}`);

/** Adds the properties of the payload, as an SDK sends them. */
function flattened(properties: Map<string, string>): string[] {
  const { payload = '{}', ...others } = Object.fromEntries(properties);
  return pairsOf(new Map(Object.entries(others))).concat(
    pairsOf(propertiesOf(payload)).map((pair) => `"payload ${pair.slice(1)}`),
  );
}

/** Reads real events from a folder: the most frequent kinds, each with its learnt schema. */
export async function readRealData(folder: string): Promise<(Sent & { kind: string })[]> {
  const kinds = new Map<string, string[]>();
  for (const [file, read] of Object.entries(files)) {
    const lines = createInterface({
      input: createReadStream(join(folder, file)).pipe(createGunzip()),
    });
    for await (const line of lines) {
      const [kind, properties] = read(line);
      const known = kinds.get(kind) ?? [];
      if (known.length < events_max) known.push(properties);
      kinds.set(kind, known);
    }
  }
  return [...kinds]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, schemas_max)
    .map(([kind, documents]) => ({
      kind,
      model: 'events',
      documents,
      properties: learnt(documents),
    }));
}

const narrow: readonly PropertyType[] = ['boolean', 'integer', 'float', 'text', 'json'];

function learnt(documents: string[]): Sent['properties'] {
  const types = new Map<string, Set<PropertyType>>();
  for (const document of documents)
    for (const [property, value] of propertiesOf(document)) {
      const type = narrow.find((one) => value !== 'null' && takes(one, value));
      if (type !== undefined) types.set(property, (types.get(property) ?? new Set()).add(type));
    }
  return [...types].map(([property, found]) => ({ property, type: commonType(found)! }));
}

/**
 * Returns the narrowest type that takes all of these values, `json` if only that does; undefined
 * for none.
 */
function commonType(types: Iterable<PropertyType>): PropertyType | undefined {
  let common: PropertyType | undefined;
  for (const type of types)
    if (common === undefined || widens(common, type)) common = type;
    else if (type !== common && !widens(type, common)) common = 'json';
  return common;
}
