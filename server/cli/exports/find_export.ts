import type { ExportOverview } from '../../api/batch_exports/overview/schema.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { Api } from '../client/api.ts';
import { UserError } from '../user_error.ts';

const alike_max = 100;

/** Returns the path of a project's object. */
export function projectPath({ target }: Api, rest: string): string {
  return `/api/projects/${encodeURIComponent(target.project)}/${rest}`;
}

/** Returns the path of an export, or a path below it. */
export function exportPath(api: Api, id: string, rest = ''): string {
  return projectPath(api, `batch_exports/${encodeURIComponent(id)}/${rest}`);
}

/**
 * Returns the id of the export that a person names by its id, or by its name if only one export of
 * the project has it. Otherwise throws a `UserError` that lists the exports.
 */
export async function findExportId(api: Api, text: string): Promise<string> {
  if (isUuid(text)) return text;
  const path = projectPath(api, 'overview/');
  const alike = await api.list<ExportOverview>(path, alike_max, { search: text, slots: 0 });
  const same = alike.filter(({ name }) => name === text);
  if (same.length === 1) return same[0]!.id;
  const [found, what] =
    same.length > 1
      ? [same, `Several exports have the name "${text}": use an id.`]
      : [alike, `There is no export "${text}" in this project.`];
  const lines = found.map(({ id, name }) => `  ${id}  ${name}`);
  const hint =
    lines.length === 0 ? ' `sluice exports list` shows all.' : same.length === 0 ? ' Similar:' : '';
  throw new UserError([`${what}${hint}`, ...lines].join('\n'));
}
