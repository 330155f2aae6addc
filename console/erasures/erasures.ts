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

/** An erasure as the API shows it: it never says whom it is about. */
export type ErasureRow = Static<typeof Erasure>;
/** A delivery that brought rows of an erasure to a destination. */
export type CopyRow = Static<typeof ErasureCopy>;

/** A plugin that got events of the persons of an erasure. */
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

/** Reads the number of rows that the erasure would take out of the store now. */
export function sizeOf(project_id: string, body: ErasureAsked) {
  const path = pathTo('/api/projects/:project_id/erasures/preview/', { project_id });
  return queryOptions({
    queryKey: [path, body],
    queryFn: async ({ signal }) => {
      const outcome = await ask('POST', path, { body, signal });
      if (!outcome.ok) throw outcome.problem;
      return outcome.body;
    },
    // Between the check of a form and its question.
    gcTime: 10_000,
  });
}

/** One page of the deliveries that had rows of it, which come and change until it is over. */
export function copiesOf(project_id: string, erasure: ErasureRow, page: number) {
  const ids = { project_id, id: erasure.id };
  const path = pathTo('/api/projects/:project_id/erasures/:id/copies/', ids, pageQuery(page));
  return reading(path, { is_busy: () => isUnderWay(erasure) });
}

/** The plugins that got events of the persons, until it is over. */
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

/** Returns true if its copies are not known yet, because its rows are still being searched. */
export function isLookingForCopies({ step }: Pick<ErasureRow, 'step'>): boolean {
  return step === 'resolve' || step === 'note';
}

/** The erasures in the API. */
export function erasuresPath(project_id: string, query?: { limit: number; offset: number }) {
  return pathTo('/api/projects/:project_id/erasures/', { project_id }, query);
}

/** Says the number of erased persons or events; the names are shown nowhere. */
export function askedInWords({ kind, asked }: Pick<ErasureRow, 'kind' | 'asked'>): string {
  if (kind === 'events') return 'Events that fit a filter';
  return Object.entries(asked)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => counted(count, name === 'person_ids' ? 'person' : 'distinct id'))
    .join(', ');
}

/** The work of an erasure at each of its steps. */
export const step_words: Record<ErasureRow['step'], string> = {
  resolve: 'Finding the distinct ids',
  note: 'Finding the rows and the deliveries',
  remove: 'Rows are leaving the store',
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

/** Lists the counts so far, each with its name; zeros are left out. */
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
