import type { DestinationType } from '../../server/api/destinations/schema.ts';

type Group = { group: string; types: DestinationType[] };

/**
 * Returns the destination types with each typed word in their name, group or sentence. They are
 * grouped in the API's order; a type whose name starts with the text moves its group to the front.
 */
export function tilesOf(types: readonly DestinationType[], wanted: string): Group[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, DestinationType[]>();
  for (const type of types) {
    const text = `${type.type} ${type.label} ${type.group} ${type.about}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    groups.set(type.group, [...(groups.get(type.group) ?? []), type]);
  }
  const begins = ({ label, type }: DestinationType) =>
    words.length > 0 && [label, type].some((name) => name.toLowerCase().startsWith(words[0]!));
  const rank = (members: DestinationType[]) => (members.some(begins) ? 0 : 1);
  return [...groups]
    .map(([group, members]) => ({
      group,
      types: members.toSorted((one, other) => Number(begins(other)) - Number(begins(one))),
    }))
    .toSorted((one, other) => rank(one.types) - rank(other.types));
}
