import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** The process's Prometheus registry and the instruments of the server. */
export type Metrics = {
  registry: Registry;
  request_seconds: Histogram<'method' | 'route' | 'status'>;
  runs_finished: Counter<'status' | 'destination'>;
  records_exported: Counter<'destination'>;
  bytes_exported: Counter<'destination'>;
  values_unfit: Counter<'destination'>;
  tool_events: Counter<'tool' | 'outcome'>;
  tool_delay_seconds: Histogram<'tool'>;
  lake_maintenance: Counter<'change'>;
  export_verified_through_seconds: Gauge<'destination'>;
  export_deviations: Gauge;
  runs_active: Gauge;
  planner_lag_seconds: Gauge;
  batch_exports: Gauge<'state'>;
  export_freshness_seconds: Histogram<'destination'>;
  export_delivered_through_seconds: Gauge<'interval'>;
  events_taken: Counter<'outcome'>;
  ingestion_warnings: Counter<'protocol' | 'reason'>;
  single_sign_ons: Counter<'way' | 'outcome'>;
  security_events: Counter<'event'>;
  spans: Counter<'outcome'>;
  replica_changes: Counter;
  insert_wait_seconds: Counter;
  disk_free_bytes: Gauge<'place'>;
  disk_state: Gauge;
  background_migration_ratio: Gauge<'name'>;
  background_migrations_failing: Gauge;
};

/** Creates a registry for each process (and each test), with Node's default metrics on request. */
export function openMetrics(options: { process_metrics: boolean }): Metrics {
  const registry = new Registry();
  if (options.process_metrics) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    request_seconds: new Histogram({
      name: 'sluice_http_request_seconds',
      help: 'Time to answer a request.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2, 10],
      registers,
    }),
    runs_finished: new Counter({
      name: 'sluice_runs_finished_total',
      help: 'Export runs that ended, by final status.',
      labelNames: ['status', 'destination'],
      registers,
    }),
    ...deliveryCounters(registers),
    ...freshnessInstruments(registers),
    ...verificationGauges(registers),
    ...toolInstruments(registers),
    runs_active: new Gauge({
      name: 'sluice_runs_active',
      help: 'Export runs that this process is working on.',
      registers,
    }),
    planner_lag_seconds: new Gauge({
      name: 'sluice_planner_lag_seconds',
      help:
        'Delay of the oldest due export; API processes also measure it, although they ' +
        'schedule none.',
      registers,
    }),
    batch_exports: new Gauge({
      name: 'sluice_batch_exports',
      help: 'Batch exports of the server by state, as the overview has it; API processes look.',
      labelNames: ['state'],
      registers,
    }),
    ...ingestionCounters(registers),
    ...diskGauges(registers),
    ...migrationGauges(registers),
    ...signInCounters(registers),
    spans: spanCounter(registers),
    ...replicaCounters(registers),
  };
}

function deliveryCounters(registers: Registry[]) {
  return {
    records_exported: new Counter({
      name: 'sluice_records_exported_total',
      help: 'Rows in slices stored at a destination.',
      labelNames: ['destination'],
      registers,
    }),
    bytes_exported: new Counter({
      name: 'sluice_bytes_exported_total',
      help: 'Bytes in slices stored at a destination.',
      labelNames: ['destination'],
      registers,
    }),
    values_unfit: new Counter({
      name: 'sluice_values_unfit_total',
      help: 'Values of typed exports that did not fit the type of their column.',
      labelNames: ['destination'],
      registers,
    }),
    lake_maintenance: new Counter({
      name: 'sluice_lake_maintenance_total',
      help: 'Files, manifests, snapshots and bytes that the maintenance of Iceberg tables changed.',
      labelNames: ['change'],
      registers,
    }),
  };
}

function freshnessInstruments(registers: Registry[]) {
  return {
    export_freshness_seconds: new Histogram({
      name: 'sluice_export_freshness_seconds',
      help:
        'Age of the oldest row of each scheduled run with rows, from its insertion until readers ' +
        'could see it.',
      labelNames: ['destination'],
      buckets: [2, 5, 15, 30, 60, 75, 90, 120, 300, 600, 1_200, 3_600, 7_200, 86_400],
      registers,
    }),
    export_delivered_through_seconds: new Gauge({
      name: 'sluice_export_delivered_through_seconds',
      help:
        'Unix time up to which each active export of the interval has delivered all rows: the ' +
        'earliest of them. API processes look.',
      labelNames: ['interval'],
      registers,
    }),
  };
}

function verificationGauges(registers: Registry[]) {
  return {
    export_verified_through_seconds: new Gauge({
      name: 'sluice_export_verified_through_seconds',
      help:
        'Unix time up to which each export that can be verified was found as delivered: the ' +
        'earliest of each type of destination. API processes look.',
      labelNames: ['destination'],
      registers,
    }),
    export_deviations: new Gauge({
      name: 'sluice_export_deviations',
      help: 'Open findings of verification that nobody accepted. API processes measure it.',
      registers,
    }),
  };
}

function toolInstruments(registers: Registry[]) {
  return {
    tool_events: new Counter({
      name: 'sluice_tool_events_total',
      help: 'Attempts to deliver events to tools, by outcome: delivered, retried or set aside.',
      labelNames: ['tool', 'outcome'],
      registers,
    }),
    tool_delay_seconds: new Histogram({
      name: 'sluice_tool_delay_seconds',
      help: 'Time from the storing of an event to its delivery by a tool.',
      labelNames: ['tool'],
      buckets: [0.5, 1, 2, 5, 15, 60, 300, 3_600, 86_400],
      registers,
    }),
  };
}

function signInCounters(registers: Registry[]) {
  return {
    single_sign_ons: new Counter({
      name: 'sluice_single_sign_ons_total',
      help:
        'Sign-ins through identity providers and links, by way and outcome: accepted, or the ' +
        'reason of the refusal.',
      labelNames: ['way', 'outcome'],
      registers,
    }),
    security_events: new Counter({
      name: 'sluice_security_events_total',
      help: 'Events of the security log, such as refused sign-ins and keys, by their word.',
      labelNames: ['event'],
      registers,
    }),
  };
}

function replicaCounters(registers: Registry[]) {
  return {
    replica_changes: new Counter({
      name: 'sluice_clickhouse_replica_changes_total',
      help: 'Switches from one ClickHouse replica to another.',
      registers,
    }),
    insert_wait_seconds: new Counter({
      name: 'sluice_clickhouse_insert_wait_seconds_total',
      help: 'Seconds for which inserts waited for their turn on a ClickHouse with replicas.',
      registers,
    }),
  };
}

function spanCounter(registers: Registry[]) {
  return new Counter({
    name: 'sluice_spans_total',
    help:
      'Spans of traces, by outcome: sent, or dropped because the queue was full or the collector ' +
      'refused them or did not answer.',
    labelNames: ['outcome'],
    registers,
  });
}

function ingestionCounters(registers: Registry[]) {
  return {
    events_taken: new Counter({
      name: 'sluice_events_taken_total',
      help: 'Events that were sent, by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    ingestion_warnings: new Counter({
      name: 'sluice_ingestion_warnings_total',
      help: 'Parts of SDK data that were refused, cut or replaced, by protocol and reason.',
      labelNames: ['protocol', 'reason'],
      registers,
    }),
  };
}

function diskGauges(registers: Registry[]) {
  return {
    disk_free_bytes: new Gauge({
      name: 'sluice_disk_free_bytes',
      help: 'Free bytes on the disk of the stores.',
      labelNames: ['place'],
      registers,
    }),
    disk_state: new Gauge({
      name: 'sluice_disk_state',
      help: '0: enough room for the stores, 1: little, 2: too little to take events.',
      registers,
    }),
  };
}

function migrationGauges(registers: Registry[]) {
  return {
    background_migration_ratio: new Gauge({
      name: 'sluice_background_migration_ratio',
      help:
        'Completed share of a background migration, by bytes; no value after the last ' +
        'migration.',
      labelNames: ['name'],
      registers,
    }),
    background_migrations_failing: new Gauge({
      name: 'sluice_background_migrations_failing',
      help: 'Background migrations that the analytics store cannot carry out.',
      registers,
    }),
  };
}
