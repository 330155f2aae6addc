import { judgeMerge } from '../identities/judge_merge.ts';
import type { Identities, IdentityWarningReason } from '../identities/judge_merge.ts';
import type { MergeAsk } from '../identities/merge_ask.ts';
import type { IncomingEvent } from '../parse/event.ts';
import type { LoadedPersons } from './load_persons.ts';
import { applyMerge, applySet, draftOf, personId } from './person.ts';
import type { Person, PersonDraft } from './person.ts';

/**
 * A new version of a person without its batch's instants; the first version has no `created_at`.
 */
export type PersonRow = Omit<Person, 'created_at'> & {
  created_at: string | undefined;
  team_id: number;
  distinct_id: string;
  /** The id of the person who owns the distinct id. */
  belongs_to: string;
  /** 1 if that is another person. */
  is_deleted: 0 | 1;
};

/** The effect of an event: its person afterwards, and the bytes of moved distinct ids. */
export type Applied = {
  person_id: string;
  properties: string;
  properties_bytes: number;
  moved_bytes: number;
  warnings: IdentityWarningReason[];
};

/** Size of a row apart from its texts. */
const row_overhead_bytes = 400;

/**
 * Persons while the events of a batch change them one after the other. Guarantees: the result
 * depends only on the loaded persons and on the events in their order; every distinct id belongs to
 * a person that is not merged into another one.
 */
export class PersonBatch implements Identities {
  readonly #team_id: number;
  readonly #before: LoadedPersons;
  readonly #drafts = new Map<string, PersonDraft>();
  readonly #others = new Map<string, Set<string>>();
  readonly #ids = new Map<string, string>();
  /** Steps that undo the latest event, from the last to the first. */
  #undo: (() => void)[] = [];

  constructor(team_id: number, before: LoadedPersons) {
    this.#team_id = team_id;
    this.#before = before;
  }

  /** Applies an event to the persons. */
  apply(event: IncomingEvent): Applied {
    this.#undo = [];
    const warnings: IdentityWarningReason[] = [];
    const moved_bytes =
      event.merge === undefined ? 0 : this.#merge(event.distinct_id, event.merge, warnings);
    const leader = this.leaderOf(event.distinct_id);
    const isPlain = (event.set ?? event.set_once ?? event.unset) === undefined;
    const draft = isPlain ? this.#draft(leader) : this.#changing(leader);
    if (!applySet(draft, event)) warnings.push('person_too_large');
    const { properties, properties_bytes } = draft;
    return { person_id: this.#id(leader), properties, properties_bytes, moved_bytes, warnings };
  }

  /** Undoes the latest event. */
  undo(): void {
    for (const step of this.#undo.toReversed()) step();
    this.#undo = [];
  }

  /** Returns one new version for each distinct id whose person or properties changed. */
  versions(): PersonRow[] {
    return [...this.#drafts]
      .filter(([, draft]) => draft.is_changed)
      .map(([distinct_id, draft]) => {
        const person = this.#before.persons.get(distinct_id);
        const version = person?.person_distinct_id_version;
        return {
          person_id: this.#id(distinct_id),
          properties: draft.properties,
          person_version: (person?.person_version ?? 0) + 1,
          person_distinct_id_version: version === undefined ? 1 : version + Number(draft.is_moved),
          created_at: draft.created_at,
          team_id: this.#team_id,
          distinct_id,
          merged_into: draft.merged_into,
          belongs_to: this.#id(draft.merged_into || distinct_id),
          is_identified: draft.is_identified,
          is_deleted: draft.merged_into === '' ? 0 : 1,
        };
      });
  }

  leaderOf(distinct_id: string): string {
    return this.#draft(distinct_id).merged_into || distinct_id;
  }

  isIdentified(leader: string): boolean {
    return this.#draft(leader).is_identified === 1;
  }

  countOthers(leader: string): number {
    return this.#othersOf(leader).size;
  }

  #id(distinct_id: string): string {
    const known = this.#before.persons.get(distinct_id)?.person_id ?? this.#ids.get(distinct_id);
    if (known !== undefined) return known;
    const id = personId(this.#team_id, distinct_id);
    this.#ids.set(distinct_id, id);
    return id;
  }

  #draft(distinct_id: string): PersonDraft {
    let draft = this.#drafts.get(distinct_id);
    if (draft === undefined) {
      draft = draftOf(this.#before.persons.get(distinct_id));
      this.#drafts.set(distinct_id, draft);
    }
    return draft;
  }

  /** Returns a draft for changes. */
  #changing(distinct_id: string): PersonDraft {
    const draft = this.#draft(distinct_id);
    const before = { ...draft };
    this.#undo.push(() => this.#drafts.set(distinct_id, before));
    return draft;
  }

  /** Returns the other distinct ids of a person that were loaded or came in this batch. */
  #othersOf(leader: string): Set<string> {
    let others = this.#others.get(leader);
    if (others === undefined) {
      others = new Set(this.#before.others.get(leader));
      this.#others.set(leader, others);
    }
    return others;
  }

  /** Merges if the rules allow it; returns the size of the versions of moved distinct ids. */
  #merge(distinct_id: string, ask: MergeAsk, warnings: IdentityWarningReason[]): number {
    const verdict = judgeMerge(distinct_id, ask, this);
    if (verdict.kind === 'refused') warnings.push(verdict.reason);
    const bytes = verdict.kind === 'merge' ? this.#move(verdict.from, verdict.into, warnings) : 0;
    if (verdict.identifies && !this.isIdentified(this.leaderOf(distinct_id)))
      Object.assign(this.#changing(this.leaderOf(distinct_id)), {
        is_identified: 1,
        is_changed: true,
      } satisfies Partial<PersonDraft>);
    return bytes;
  }

  /** Merges a person into another one, with all its distinct ids. */
  #move(from: string, into: string, warnings: IdentityWarningReason[]): number {
    const [source, target] = [this.#changing(from), this.#changing(into)];
    if (!applyMerge(target, source)) warnings.push('merged_properties_too_large');
    if (source.created_at !== undefined && source.created_at < (target.created_at ?? '~'))
      Object.assign(target, { created_at: source.created_at, is_changed: true });
    const [left, joined] = [this.#othersOf(from), this.#othersOf(into)];
    const moved = [from, ...left];
    let bytes = 0;
    for (const distinct_id of moved) {
      const draft = distinct_id === from ? source : this.#changing(distinct_id);
      const { created_at } = draft;
      Object.assign(draft, draftOf(undefined), {
        created_at,
        merged_into: into,
        is_changed: true,
        is_moved: true,
      } satisfies Partial<PersonDraft>);
      joined.add(distinct_id);
      bytes += row_overhead_bytes + Buffer.byteLength(distinct_id) + Buffer.byteLength(into);
    }
    this.#others.set(from, new Set());
    this.#undo.push(() => {
      this.#others.set(from, left);
      for (const distinct_id of moved) joined.delete(distinct_id);
    });
    return bytes;
  }
}
