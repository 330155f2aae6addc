/** The two ids of an event's person, either of which may change between two events. */
export type OfPerson = { distinct_id: string; person_id: string };

/**
 * Identifies persons: events belong to one person if they share a distinct id or a person id, also
 * indirectly.
 */
export type Persons = { join(event: OfPerson): void; of(event: OfPerson): string };

/** Opens an empty table of persons; all events are joined before the first look-up. */
export function openPersons(): Persons {
  const parents = new Map<string, string>();
  const rootOf = (id: string): string => {
    let root = id;
    for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root))
      root = parent;
    if (root !== id) parents.set(id, root);
    return root;
  };
  return {
    join: ({ distinct_id, person_id }) => {
      const [one, other] = [rootOf(`d${distinct_id}`), rootOf(`p${person_id}`)];
      if (one !== other) parents.set(one, other);
    },
    of: ({ distinct_id }) => rootOf(`d${distinct_id}`),
  };
}
