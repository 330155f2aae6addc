import type { Tool } from './tool.ts';
import { apply_configuration } from './tools/apply_configuration.ts';
import { explain_delay } from './tools/explain_delay.ts';
import { find_record } from './tools/find_record.ts';
import { get_export } from './tools/get_export.ts';
import { list_exports } from './tools/list_exports.ts';
import { list_projects } from './tools/list_projects.ts';
import { list_runs } from './tools/list_runs.ts';
import { list_slots } from './tools/list_slots.ts';
import { plan_backfill } from './tools/plan_backfill.ts';
import { plan_configuration } from './tools/plan_configuration.ts';
import { read_activity } from './tools/read_activity.ts';
import { read_logs } from './tools/read_logs.ts';

/** All tools for agents, one line each; at most twelve. */
export const tools: readonly Tool[] = [
  list_projects,
  list_exports,
  get_export,
  explain_delay,
  list_runs,
  read_logs,
  list_slots,
  find_record,
  read_activity,
  plan_backfill,
  plan_configuration,
  apply_configuration,
];
