import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { inlineTexts, inline_settings } from '../../../platform/clickhouse/inline_texts.ts';
import { moved_ids_max } from '../identities/judge_merge.ts';
import type { Person } from './person.ts';

const cache_bytes_max = 64 * 1024 * 1024;
const entry_overhead_bytes = 200;
// Distinct ids are part of the statement's text; this keeps one statement near a megabyte.
const chunk_size = 2_000;

type TeamCache = { generation: number; persons: Map<string, Person | null> };

/**
 * One process's cache of the latest versions of persons. Only the holder of a project's ingestion
 * lock may use it for that project.
 */
export type PersonStore = {
  /**
   * Returns the latest version of each distinct id that has one. `generation` counts the project's
   * batches that wrote persons: a new value empties the cache. Throws if `signal` aborts first.
   */
  load(
    teamId: number,
    generation: number,
    distinctIds: Iterable<string>,
    signal: AbortSignal,
  ): Promise<Map<string, Person>>;
  /** Returns the other distinct ids of a person, as many as may be moved. */
  findOthers(teamId: number, leader: string, signal: AbortSignal): Promise<string[]>;
  /** Caches versions that the batch of `generation` stored. */
  remember(teamId: number, generation: number, persons: Iterable<[string, Person]>): void;
  /** Empties the cache of a project after a batch with an unknown end. */
  forget(teamId: number): void;
};

/**
 * Opens a store over the table `persons` with a cache of at most 64 MiB, which is emptied when it
 * is full.
 */
export function openPersonStore(clickhouse: ClickHouse): PersonStore {
  const teams = new Map<number, TeamCache>();
  let bytes = 0;
  const put = (persons: Map<string, Person | null>, distinctId: string, person: Person | null) => {
    persons.set(distinctId, person);
    bytes += entry_overhead_bytes + distinctId.length + (person?.properties.length ?? 0);
  };
  const cacheOf = (teamId: number, generation: number) => {
    if (bytes > cache_bytes_max) {
      teams.clear();
      bytes = 0;
    }
    const known = teams.get(teamId);
    if (known !== undefined && known.generation === generation) return known;
    const fresh = { generation, persons: new Map<string, Person | null>() };
    teams.set(teamId, fresh);
    return fresh;
  };
  return {
    load: async (teamId, generation, distinctIds, signal) => {
      const { persons } = cacheOf(teamId, generation);
      const wanted = new Set(distinctIds);
      const missing = [...wanted].filter((distinctId) => !persons.has(distinctId));
      for (let from = 0; from < missing.length; from += chunk_size) {
        const chunk = missing.slice(from, from + chunk_size);
        const found = await selectLatest(clickhouse, teamId, chunk, signal);
        signal.throwIfAborted();
        for (const distinctId of chunk) put(persons, distinctId, null);
        for (const { distinct_id, ...person } of found) put(persons, distinct_id, person);
      }
      const latest = new Map<string, Person>();
      for (const distinctId of wanted) {
        const person = persons.get(distinctId);
        if (person) latest.set(distinctId, person);
      }
      return latest;
    },
    findOthers: (teamId, leader, signal) => selectOthers(clickhouse, teamId, leader, signal),
    remember: (teamId, generation, changed) => {
      const cache = teams.get(teamId);
      if (cache === undefined) return;
      cache.generation = generation;
      for (const [distinctId, person] of changed) put(cache.persons, distinctId, person);
    },
    forget: (teamId) => teams.delete(teamId),
  };
}

// Uses the table's order (team_id, distinct_id, person_version): only the granules of these ids are
// read.
async function selectLatest(
  clickhouse: ClickHouse,
  teamId: number,
  distinctIds: string[],
  signal: AbortSignal,
): Promise<(Person & { distinct_id: string })[]> {
  return clickhouse.rows<Person & { distinct_id: string }>({
    query: `SELECT distinct_id, person_id, properties, person_version, person_distinct_id_version,
        toString(created_at) AS created_at, merged_into, is_identified
      FROM persons
      WHERE team_id = {team_id:Int64} AND distinct_id IN (${inlineTexts(distinctIds, 'id')})
      ORDER BY distinct_id, person_version DESC, inserted_at DESC LIMIT 1 BY distinct_id`,
    query_params: { team_id: teamId },
    clickhouse_settings: { ...inline_settings, date_time_output_format: 'simple' },
    abort_signal: signal,
  });
}

// Reads the project's `merged_into`, but only for a forced merge of an identified person. Persons
// merged into one that is not merged itself still belong to it.
async function selectOthers(
  clickhouse: ClickHouse,
  teamId: number,
  leader: string,
  signal: AbortSignal,
): Promise<string[]> {
  const rows = await clickhouse.rows<{ distinct_id: string }>({
    query: `SELECT DISTINCT distinct_id FROM persons
      WHERE team_id = {team_id:Int64} AND merged_into = {leader:String}
      ORDER BY distinct_id LIMIT ${moved_ids_max}`,
    query_params: { team_id: teamId, leader },
    abort_signal: signal,
  });
  return rows.map(({ distinct_id }) => distinct_id);
}
