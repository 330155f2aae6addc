import { batch_export } from './batch_export.ts';
import { domain } from './domain.ts';
import type { Kind } from './kind.ts';
import { notice_target } from './notice_target.ts';
import { organization } from './organization.ts';
import { project } from './project.ts';
import { write_key } from './write_key.ts';

/**
 * What a configuration can describe, one line each, in the order in which it is made: what others
 * lie in or refer to comes before them.
 */
export const kinds: readonly Kind[] = [
  organization,
  project,
  write_key,
  batch_export,
  notice_target,
  domain,
];
