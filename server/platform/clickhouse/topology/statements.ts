import { deduplication_windows } from './mode.ts';
import type { Mode } from './mode.ts';
import { identifier, literal } from '../quote.ts';

/**
 * Converts a statement of the migrations, which are written for one node, for a store of this mode.
 * Guarantee: on one node, the text stays the same. An ALTER of a replicated table spreads
 * automatically; a CREATE must run everywhere.
 */
export function statementFor(mode: Mode, statement: string): string {
  if (mode.kind === 'one_node' || mode.kind === 'cloud') return statement;
  const create = /^(CREATE (?:TABLE|VIEW) IF NOT EXISTS \w+)/;
  const created =
    mode.kind === 'on_cluster'
      ? statement.replace(create, (text) => `${text} ON CLUSTER ${literal(mode.cluster)}`)
      : statement;
  if (!created.startsWith('CREATE TABLE')) return created;
  const replicated = created.replace(/\bENGINE = MergeTree\b/, 'ENGINE = ReplicatedMergeTree');
  const has_settings = /\bSETTINGS\b/.test(replicated.slice(replicated.indexOf('ENGINE =')));
  const windows = Object.entries(deduplication_windows).map(
    ([name, value]) => `${name} = ${value}`,
  );
  return `${replicated}${has_settings ? ', ' : '\nSETTINGS '}${windows.join(', ')}`;
}

/**
 * Returns all replicas' rows of a table, as a relation; on one node, and in the cloud, the table.
 */
export function everywhere(mode: Mode, table: string): string {
  if (mode.kind === 'one_node' || mode.kind === 'cloud') return table;
  const name = table.includes('.') ? table : `${identifier(mode.database)}.${table}`;
  return `clusterAllReplicas(${literal(mode.cluster)}, ${name})`;
}
