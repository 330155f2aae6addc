import { aggregates } from './aggregates.ts';
import type { FunctionDefinition } from './definition.ts';
import { functionTopics } from './index.ts';
import { other_names } from './other_names.ts';
import { readSignatures } from './signature.ts';
import type { Signature } from './signature.ts';
import { windows } from './windows.ts';

/**
 * A function that may be called: its definition, its parsed signatures, and whether it works on one
 * row or many rows, or needs OVER.
 */
export type KnownFunction = {
  definition: FunctionDefinition;
  signatures: Signature[];
  use: 'row' | 'aggregate' | 'window';
};

/** The parts of an aggregate's name: `countIf` is `count` with `If`. */
export type AggregateName = { base: KnownFunction; has_condition: boolean; or_null: boolean };

const known = new Map<string, KnownFunction>(
  functionTopics.flatMap((topic) => {
    const use = topic === aggregates ? 'aggregate' : topic === windows ? 'window' : 'row';
    return topic.functions.map(
      (definition) =>
        [
          definition.name,
          { definition, signatures: readSignatures(definition.signature), use },
        ] as const,
    );
  }),
);

/** Returns the function of exactly this name, or undefined. */
export function findFunction(name: string): KnownFunction | undefined {
  return known.get(name);
}

/**
 * Returns the aggregate of this name with its suffixes (`If`, `OrNull`, in this order), or
 * undefined.
 */
export function findAggregate(name: string): AggregateName | undefined {
  const or_null = name.endsWith('OrNull');
  const withoutNull = or_null ? name.slice(0, -'OrNull'.length) : name;
  const has_condition = withoutNull.endsWith('If');
  const base = known.get(has_condition ? withoutNull.slice(0, -'If'.length) : withoutNull);
  return base?.use === 'aggregate' ? { base, has_condition, or_null } : undefined;
}

const endings = ['', 'If', 'OrNull', 'IfOrNull'];
// SQL is often written in capitals; no two functions differ in case alone.
const spellings = new Map<string, string>(
  [...Array.from(known.keys(), (name) => [name, name]), ...Object.entries(other_names)].flatMap(
    ([written, name]) =>
      (known.get(name!)?.use === 'aggregate' ? endings : ['']).map(
        (ending) => [`${written}${ending}`.toLowerCase(), `${name}${ending}`] as const,
      ),
  ),
);

/**
 * Returns the name as the list spells it, for any case and for names of other SQL dialects; the
 * name itself if the list has no match.
 */
export function spellFunction(name: string): string {
  return spellings.get(name.toLowerCase()) ?? name;
}

/** Returns every name that can be called, without the suffixes of aggregates. */
export function functionNames(): Iterable<string> {
  return known.keys();
}
