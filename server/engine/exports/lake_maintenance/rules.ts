import { maintenance_property } from '../../model/lake_catalog/tables.ts';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';

const day_ms = 24 * 3_600_000;
const mib = 1024 * 1024;

/** The maintenance rules of a table, from its properties. */
export type MaintenanceRules = {
  is_on: boolean;
  /** False: the files have other users too, and none is removed. */
  removes_files: boolean;
  /** Older snapshots of a branch expire; each branch keeps this many of its latest. */
  snapshot_age_ms: number;
  snapshots_min: number;
  /** Older branches and tags are dropped, except `main`. */
  ref_age_ms: number;
  /** From this many small manifests, they are merged into manifests of about this size. */
  manifests_min: number;
  manifest_bytes: number;
  /**
   * Data files below a fraction of this size are merged into files of this size, with at most these
   * rows.
   */
  file_bytes: number;
  file_records: number;
  /** True: metadata files that the table no longer names are removed. */
  removes_metadata: boolean;
};

/** Iceberg's properties and our own, with their default values. */
const defaults = {
  [maintenance_property]: 'true',
  'gc.enabled': 'true',
  'history.expire.max-snapshot-age-ms': String(3 * day_ms),
  'history.expire.min-snapshots-to-keep': '1',
  'history.expire.max-ref-age-ms': String(Number.MAX_SAFE_INTEGER),
  'commit.manifest.min-count-to-merge': '100',
  'commit.manifest.target-size-bytes': String(8 * mib),
  'write.target-file-size-bytes': String(128 * mib),
  'sluice.target-file-records': '5000000',
  'write.metadata.delete-after-commit.enabled': 'true',
};

/**
 * Returns true if Sluice maintains the table. It maintains tables of exports, and tables of clients
 * if the table or its namespace asks for it: snapshots of others must not expire without consent.
 */
export function isMaintained(
  table: Pick<LakeTable, 'metadata' | 'batch_export_id' | 'namespace_maintenance'>,
): boolean {
  const { 'format-version': version, properties } = table.metadata;
  const said = properties[maintenance_property] ?? table.namespace_maintenance;
  const is_on = said === null ? table.batch_export_id !== null : said.toLowerCase() !== 'false';
  return is_on && (version === 2 || version === 3);
}

/**
 * Reads the rules of a table from its properties. An invalid number counts as the default, so that
 * a wrong property never removes more than usual.
 */
export function rulesOf(properties: Record<string, string>): MaintenanceRules {
  const textOf = (name: keyof typeof defaults) => properties[name] ?? defaults[name];
  const isOn = (name: keyof typeof defaults) => textOf(name).toLowerCase() !== 'false';
  const numberOf = (name: keyof typeof defaults, least = 1) => {
    const text = textOf(name);
    const given = Number(text);
    const is_right = /^\d+$/.test(text) && Number.isSafeInteger(given) && given >= least;
    return is_right ? given : Number(defaults[name]);
  };
  return {
    is_on: isOn(maintenance_property),
    removes_files: isOn('gc.enabled'),
    snapshot_age_ms: numberOf('history.expire.max-snapshot-age-ms'),
    snapshots_min: numberOf('history.expire.min-snapshots-to-keep'),
    ref_age_ms: numberOf('history.expire.max-ref-age-ms'),
    manifests_min: numberOf('commit.manifest.min-count-to-merge', 2),
    manifest_bytes: numberOf('commit.manifest.target-size-bytes'),
    file_bytes: numberOf('write.target-file-size-bytes'),
    file_records: numberOf('sluice.target-file-records'),
    removes_metadata: isOn('write.metadata.delete-after-commit.enabled'),
  };
}
