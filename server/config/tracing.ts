import { samplers } from '../platform/tracing/sampler.ts';
import type { TracingOptions } from '../platform/tracing/tracer.ts';
import { WrongValue, choice, flag, folder, listed, number, setting, url, whole } from './values.ts';
import type { Read, ValuesOf } from './values.ts';

/**
 * Reads `name=value` pairs with commas between and values encoded as in a URL. A refusal repeats no
 * value.
 */
const pairs: Read<Record<string, string>> = (text) =>
  Object.fromEntries(
    listed(text).map((pair) => {
      const [, name, value] = /^([^=\s]+)\s*=\s*(.*)$/.exec(pair) ?? [];
      try {
        return [name!.trim(), decodeURIComponent(value!)];
      } catch {
        throw new WrongValue('must be name=value, separated by commas, values as in a URL.');
      }
    }),
  );

/** Reads headers. Names ignore case; characters that HTTP forbids are refused. */
const headers: Read<Record<string, string>> = (text) => {
  try {
    return Object.fromEntries(new Headers(pairs(text)));
  } catch (error) {
    if (error instanceof WrongValue) throw error;
    throw new WrongValue('must be headers that HTTP allows, as name=value.');
  }
};

/** Settings of traces, with the names of the OpenTelemetry specification. */
export const tracing_settings = {
  otel_disabled: setting(
    'OTEL_SDK_DISABLED',
    'false',
    flag,
    'Turns traces off, whatever else is set.',
  ),
  otel_exporter: setting(
    'OTEL_TRACES_EXPORTER',
    'otlp',
    choice('otlp', 'none'),
    'Whether traces go to the collector (`otlp`) or not (`none`).',
  ),
  otel_endpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    '',
    url('http:', 'https:'),
    'Collector that traces are sent to, by OTLP over HTTP, at `/v1/traces` below this address ' +
      '(`http://127.0.0.1:4318`). Default: no traces are sent ([traces.md](traces.md)).',
  ),
  otel_traces_endpoint: setting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    '',
    url('http:', 'https:'),
    'The same as a complete address, which takes precedence.',
  ),
  otel_protocol: setting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'http/json',
    choice('http/json', 'http/protobuf'),
    'Sluice sends JSON in both cases: collectors accept both at one address. Sluice does not ' +
      'support `grpc`.',
  ),
  otel_headers: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    '',
    headers,
    'Headers for the collector (`api-key=...,other=...`), the values encoded as in a URL.',
  ),
  otel_traces_headers: setting(
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    '',
    headers,
    'The same for traces alone, which takes precedence.',
  ),
  otel_timeout_ms: setting(
    'OTEL_EXPORTER_OTLP_TIMEOUT',
    '10000',
    whole(1, 600_000),
    'Milliseconds that Sluice waits for an answer of the collector. Exports and requests do not ' +
      'wait.',
  ),
  otel_sampler: setting(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    choice(...samplers),
    "Which traces are kept. With `parentbased_`, the flag of a request's `traceparent` decides.",
  ),
  otel_sampler_ratio: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    '1',
    number(0, 1),
    'The share of traces that `traceidratio` keeps, from 0 to 1.',
  ),
  otel_service_name: setting(
    'OTEL_SERVICE_NAME',
    '',
    (text) => text,
    'Name of the service in traces. Default: `service.name` of `OTEL_RESOURCE_ATTRIBUTES`, else ' +
      '`sluice`.',
  ),
  otel_resource: setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    '',
    pairs,
    'Attributes that all traces have for this server (`deployment.environment.name=production`).',
  ),
  traces_file: setting(
    'SLUICE_TRACES_FILE',
    '',
    folder,
    'File that traces are added to, a line of OTLP in JSON for each batch, with or without a ' +
      'collector; two of 64 MiB at most. Default: none.',
  ),
};

/** Returns which requests to trace, and the collector that receives the traces. */
export function tracingOptions(config: ValuesOf<typeof tracing_settings>): TracingOptions {
  const isOff = config.otel_disabled;
  const { otel_endpoint, otel_traces_endpoint } = config;
  const address =
    otel_traces_endpoint ??
    (otel_endpoint === undefined ? undefined : `${otel_endpoint}/v1/traces`);
  return {
    collector:
      isOff || address === undefined || config.otel_exporter === 'none'
        ? undefined
        : {
            url: address,
            headers: config.otel_traces_headers ?? config.otel_headers ?? {},
            timeout_ms: config.otel_timeout_ms,
          },
    file: isOff ? undefined : config.traces_file,
    sampler: config.otel_sampler,
    sampler_ratio: config.otel_sampler_ratio,
    resource: {
      'service.name': 'sluice',
      ...config.otel_resource,
      ...(config.otel_service_name === undefined
        ? {}
        : { 'service.name': config.otel_service_name }),
    },
  };
}
