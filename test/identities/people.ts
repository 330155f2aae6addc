import { nobody } from './sequences.ts';
import type { SentEvent } from './sequences.ts';

/** A person of the model. */
export type PersonOfModel = {
  name: string;
  ids: Set<string>;
  is_identified: boolean;
  /** True if anything is known about them, so that they have a row. */
  is_known: boolean;
  properties: Map<string, unknown>;
};

/**
 * The rules of docs/persons.md in plain code, one event after another, written independently of the
 * server's code.
 */
export class People {
  readonly #persons = new Map<string, PersonOfModel>();
  readonly #seen = new Set<string>();

  /** Applies the event and returns the name of its person, undefined for an event seen before. */
  take({ uuid, event, distinct_id, properties }: SentEvent): string | undefined {
    if (this.#seen.has(uuid)) return undefined;
    this.#seen.add(uuid);
    const { $anon_distinct_id: anonymous, alias } = properties as Record<string, string>;
    if (event === '$identify') this.#merge(anonymous, distinct_id, false);
    if (event === '$create_alias') this.#merge(alias, distinct_id, false);
    if (event === '$merge_dangerously') this.#merge(alias, distinct_id, true);
    const person = this.of(distinct_id);
    for (const [key, value] of Object.entries(properties['$set_once'] ?? {}))
      if (!person.properties.has(key) && !Object.hasOwn(properties['$set'] ?? {}, key))
        person.properties.set(key, value);
    for (const [key, value] of Object.entries(properties['$set'] ?? {}))
      person.properties.set(key, value);
    for (const key of (properties['$unset'] ?? []) as string[]) person.properties.delete(key);
    // A property that is set and unset at once never existed.
    person.is_known ||= person.properties.size > 0;
    return person.name;
  }

  of(distinct_id: string): PersonOfModel {
    let person = this.#persons.get(distinct_id);
    if (person === undefined) {
      person = {
        name: distinct_id,
        ids: new Set([distinct_id]),
        is_identified: false,
        is_known: false,
        properties: new Map(),
      };
      this.#persons.set(distinct_id, person);
    }
    return person;
  }

  /** Everyone who is mentioned, by their name. */
  known(): Map<string, PersonOfModel> {
    const all = [...this.#persons.values()].filter(({ is_known }) => is_known);
    return new Map(all.map((person) => [person.name, person]));
  }

  #merge(other: string | undefined, distinct_id: string, is_forced: boolean): void {
    if (other === undefined || other === distinct_id) return;
    if (nobody.includes(distinct_id) || nobody.includes(other)) return;
    const [from, into] = [this.of(other), this.of(distinct_id)];
    if (from !== into && (is_forced || !from.is_identified)) {
      for (const [key, value] of from.properties)
        if (!into.properties.has(key)) into.properties.set(key, value);
      for (const id of from.ids) {
        into.ids.add(id);
        this.#persons.set(id, into);
      }
    }
    into.is_identified = true;
    into.is_known = true;
  }
}
