import { queryOptions } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type {
  Erasure,
  ErasureAsked,
  ErasureCopy,
  ErasureTool,
} from '../../server/api/erasures/schema.ts';
import { counted } from '../page/text/quantities.ts';
import { ask } from '../http/ask.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** An erasure in answers, which never name the persons. */
export type ErasureRow = Static<typeof Erasure>;
/** A delivery of an erasure's rows to a destination. */
export type CopyRow = Static<typeof ErasureCopy>;

/** A plugin that received events of an erasure's persons. */
export type ToolRow = Static<typeof ErasureTool>;

const isUnderWay = ({ status }: ErasureRow) => status !== 'Completed';

/** One page of the erasures of a project, newest first. */
export function erasuresOf(project_id: string, page: number) {
  return reading(erasuresPath(project_id, pageQuery(page)), {
    is_busy: ({ results }) => results.some(isUnderWay),
  });
}

/** One erasure. */
export function erasureOf(project_id: string, id: string) {
  return reading(pathTo('/api/projects/:project_id/erasures/:id/', { project_id, id }), {
    is_busy: isUnderWay,
  });
}

/** Reads the number of rows that the erasure would delete now. */
export function sizeOf(project_id: string, body: ErasureAsked) {
  const path = pathTo('/api/projects/:project_id/erasures/preview/', { project_id });
  return queryOptions({
    queryKey: [path, body],
    queryFn: async ({ signal }) => {
      const outcome = await ask('POST', path, { body, signal });
      if (!outcome.ok) throw outcome.problem;
      return outcome.body;
    },
    // The time between the check of a form and its question.
    gcTime: 10_000,
  });
}

/** One page of the deliveries with its rows, which change until the erasure ends. */
export function copiesOf(project_id: string, erasure: ErasureRow, page: number) {
  const ids = { project_id, id: erasure.id };
  const path = pathTo('/api/projects/:project_id/erasures/:id/copies/', ids, pageQuery(page));
  return reading(path, { is_busy: () => isUnderWay(erasure) });
}

/** The plugins that received events of the persons; read again until the erasure ends. */
export function toolsOf(project_id: string, erasure: ErasureRow) {
  const ids = { project_id, id: erasure.id };
  const path = pathTo('/api/projects/:project_id/erasures/:id/tools/', ids, { limit: 1000 });
  return reading(path, { is_busy: () => isUnderWay(erasure) });
}

/** States of a tool: the word, its shape and its colour. */
export const tool_states: Record<
  ToolRow['state'],
  { word: string; shape: string; tone: 'good' | 'bad' | 'muted' }
> = {
  waiting: { word: 'Waiting', shape: '◌', tone: 'muted' },
  told: { word: 'Told', shape: '●', tone: 'good' },
  cannot: { word: 'Cannot be told', shape: '○', tone: 'bad' },
  failed: { word: 'Failed', shape: '▲', tone: 'bad' },
};

/** Returns true if its copies are unknown, because its rows are still being searched. */
export function isLookingForCopies({ step }: Pick<ErasureRow, 'step'>): boolean {
  return step === 'resolve' || step === 'note';
}

/** Returns the path of the erasures. */
export function erasuresPath(project_id: string, query?: { limit: number; offset: number }) {
  return pathTo('/api/projects/:project_id/erasures/', { project_id }, query);
}

/** Returns the number of erased persons or events in words; names are never shown. */
export function askedInWords({ kind, asked }: Pick<ErasureRow, 'kind' | 'asked'>): string {
  if (kind === 'events') return 'Events that fit a filter';
  return Object.entries(asked)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => counted(count, name === 'person_ids' ? 'person' : 'distinct id'))
    .join(', ');
}

/** The work of an erasure at each step. */
export const step_words: Record<ErasureRow['step'], string> = {
  resolve: 'Finding the distinct ids',
  note: 'Finding the rows and the deliveries',
  remove: 'Rows are deleted from the store',
  settle: 'Runs in progress restart',
  rewrite: 'Copies are rewritten',
  scrub: 'Logs and warnings are cleaned',
  files: 'The store is removing its former files',
  certify: 'The certificate is signed',
  done: 'Certified',
};

const count_names: Record<string, string> = {
  persons: 'Persons',
  distinct_ids: 'Distinct ids',
  events: 'Events',
  person_versions: 'Versions of persons',
  warning_examples: 'Examples of warnings',
  refused_events: 'Refused events',
  log_lines: 'Lines of logs',
  plugin_jobs: 'Jobs of plugins',
  plugin_values: 'Values that plugins keep',
};

/** Returns the counts so far, each with its name, without zeros. */
export function countsOf({ counts }: Pick<ErasureRow, 'counts'>): [string, number][] {
  return Object.entries(count_names).flatMap(([key, name]): [string, number][] =>
    (counts[key] ?? 0) === 0 ? [] : [[name, counts[key]!]],
  );
}

/** States of a copy. */
export const copy_words: Record<CopyRow['state'], string> = {
  waiting: 'To be rewritten',
  rewriting: 'Being rewritten',
  rewritten: 'Rewritten',
  yours: 'Not removed by the erasure',
};
