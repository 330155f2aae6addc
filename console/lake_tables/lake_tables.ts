import type { LakeTable } from '../../server/api/lake_tables/schema.ts';
import { pageQuery } from '../http/page_number.ts';
import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

const tables = '/api/projects/:project_id/lake_tables/';
const one = '/api/projects/:project_id/lake_tables/:id/';

/** A page of the tables of a project. */
export function lakeTables(project_id: string, page: number) {
  return reading(pathTo(tables, { project_id }, pageQuery(page)));
}

/** The tables that an export writes. */
export function tablesOfExport(project_id: string, batch_export: string) {
  return reading(pathTo(tables, { project_id }, { batch_export, limit: 1 }));
}

/** A table with its schema. */
export function lakeTable(project_id: string, id: string) {
  return reading(pathTo(one, { project_id, id }));
}

/** A page of the snapshots of a table. */
export function snapshotsOf(project_id: string, id: string, page: number) {
  return reading(pathTo(`${one}snapshots/`, { project_id, id }, pageQuery(page)));
}

/** The sizes of a table's files, which the server reads from its storage: once per visit. */
export function filesOf(project_id: string, id: string) {
  return reading(pathTo(`${one}files/`, { project_id, id }), { polls: false });
}

/** Returns the full name of a table for readers. */
export function nameOf({ namespace, name }: Pick<LakeTable, 'namespace' | 'name'>): string {
  return `${namespace}.${name}`;
}

/** Formats a number; a dash if the table's writers did not report it. */
export function told(number: number | null): string {
  return number === null ? '–' : number.toLocaleString('en');
}

const change_names: Record<string, string> = {
  files_compacted: 'Files merged',
  files_written: 'Into files',
  manifests_merged: 'Manifests merged',
  snapshots_expired: 'Snapshots expired',
  data_files_removed: 'Data files removed',
  metadata_files_removed: 'Metadata files removed',
  orphans_removed: 'Orphans removed',
};

/** Describes the changes of a maintenance round, without zeros. */
export function changesOf(changes: Record<string, number>): [string, string][] {
  return Object.entries(change_names).flatMap(([key, name]): [string, string][] => {
    const count = changes[key] ?? 0;
    return count === 0 ? [] : [[name, told(count)]];
  });
}
