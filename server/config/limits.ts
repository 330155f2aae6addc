import { setting, whole } from './values.ts';

/** Time limits of the server, and bounds on its concurrent work. */
export const limit_settings = {
  settle_seconds: setting(
    'SLUICE_SETTLE_SECONDS',
    '0',
    whole(0, 86_400),
    'How many seconds after its end an interval is exported at the earliest. Events that ' +
      'Sluice ingests need no such delay. If other programs insert into its tables, it must be ' +
      'longer than the longest such insert.',
  ),
  drain_seconds: setting(
    'SLUICE_DRAIN_SECONDS',
    '0',
    whole(0, 600),
    'How long a stopping server still answers requests while `/readyz` returns 503. It must be ' +
      'longer than the load balancer takes to notice.',
  ),
  pause_after_failures: setting(
    'SLUICE_PAUSE_AFTER_FAILURES',
    '10',
    whole(0, 1_000),
    'After how many failed runs in a row Sluice pauses an export, with the reason in ' +
      '`pause_reason`; 0: never.',
  ),
  worker_runs_max: setting(
    'SLUICE_WORKER_RUNS_MAX',
    '4',
    whole(1, 256),
    'Export runs that one worker works on at a time; four with few rows count as one.',
  ),
  project_runs_max: setting(
    'SLUICE_PROJECT_RUNS_MAX',
    '4',
    whole(1, 10_000),
    'How many export runs of one project are worked on at a time, over all processes; the ' +
      'same on every process.',
  ),
  host_runs_max: setting(
    'SLUICE_HOST_RUNS_MAX',
    '8',
    whole(1, 10_000),
    'How many export runs deliver to one host, Snowflake account or BigQuery project at a time, ' +
      'over all processes and projects; the same on every process.',
  ),
  destination_silence_seconds_max: setting(
    'SLUICE_DESTINATION_SILENCE_SECONDS_MAX',
    '1800',
    whole(1, 86_400),
    'How long a destination may show no progress (accept no byte, send no answer) before Sluice ' +
      'ends the attempt and retries. Set it longer than its longest single statement or job.',
  ),
  clickhouse_inserts_per_second: setting(
    'SLUICE_CLICKHOUSE_INSERTS_PER_SECOND',
    '200',
    whole(20, 400),
    'Inserts per second that all processes together start on a ClickHouse with replicas. ' +
      'Choose a number that their coordination service can bear. Set the same value on every ' +
      'process. A single node has no such limit.',
  ),
  query_seconds_max: setting(
    'SLUICE_QUERY_SECONDS_MAX',
    '600',
    whole(1, 86_400),
    'Time limit of the analytics store for one statement of a custom query: a count, or the ' +
      'rows of one slice. The time in which a destination receives the rows does not count.',
  ),
  query_memory_mb_max: setting(
    'SLUICE_QUERY_MEMORY_MB_MAX',
    '512',
    whole(64, 10_000_000),
    'Memory limit of one custom query in the analytics store, in MiB. It must suffice for ' +
      'the largest grouping.',
  ),
  query_memory_total_mb: setting(
    'SLUICE_QUERY_MEMORY_TOTAL_MB',
    '2048',
    whole(64, 10_000_000),
    'MiB of memory for all custom queries of one process together; the queries of one project ' +
      'may take half. Further queries wait. With the embedded store, the limit is six tenths of ' +
      'its memory.',
  ),
  query_rows_max: setting(
    'SLUICE_QUERY_ROWS_MAX',
    '1000000000',
    whole(1, 1_000_000_000_000_000),
    'How many rows one custom query may read, and how many it may return in one slice.',
  ),
  rate_limit_per_minute: setting(
    'SLUICE_RATE_LIMIT_PER_MINUTE',
    '480',
    whole(0, 10_000_000),
    'Requests per key and minute; 0 is off.',
  ),
  rate_limit_per_hour: setting(
    'SLUICE_RATE_LIMIT_PER_HOUR',
    '4800',
    whole(0, 100_000_000),
    'Requests per key and hour; 0 is off.',
  ),
  rate_limit_person_factor: setting(
    'SLUICE_RATE_LIMIT_PERSON_FACTOR',
    '4',
    whole(0, 1_000),
    'All keys and sessions of one person together may make this many times the requests of one ' +
      'key, per minute and per hour; 0 is off.',
  ),
  capture_limit_per_key: setting(
    'SLUICE_CAPTURE_LIMIT_PER_KEY',
    '600000',
    whole(0, 100_000_000),
    'Requests of SDKs with events per project and minute. Sluice asks SDKs to send further ' +
      'ones later; 0 is off.',
  ),
  capture_limit_per_address: setting(
    'SLUICE_CAPTURE_LIMIT_PER_ADDRESS',
    '60000',
    whole(0, 100_000_000),
    'The same per client address.',
  ),
  refused_events_days: setting(
    'SLUICE_REFUSED_EVENTS_DAYS',
    '7',
    whole(0, 90),
    'Days for which refused events of SDKs are kept with their bytes, so that they can be sent ' +
      'again; 0 keeps none.',
  ),
  disk_free_mb_min: setting(
    'SLUICE_DISK_FREE_MB_MIN',
    '',
    whole(0, 1_000_000_000),
    'MiB that must stay free on the disk of the stores. With less, events get 503 until space ' +
      'is free. With less than twice as much, Sluice logs a warning; 0 is off. Default: 5 % of ' +
      'the file system, from 128 to 1024 MiB.',
  ),
  disk_budget_mb: setting(
    'SLUICE_DISK_BUDGET_MB',
    '0',
    whole(0, 1_000_000_000),
    'How many MiB both stores may use together; 0: no limit. Above the limit, events are ' +
      'answered with 503. From 85 %, the server logs a warning.',
  ),
};
