/** An event of somebody: their two ids, of which either may change between two events. */
export type OfPerson = { distinct_id: string; person_id: string };

/** Tells who is one person: events that share a distinct id or a person, also by way of others. */
export type Persons = { join(event: OfPerson): void; of(event: OfPerson): string };

/** Opens a table of persons with nobody in it; all are joined before the first is asked for. */
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
