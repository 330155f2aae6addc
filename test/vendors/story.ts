import type { ToolMapping } from '../../server/engine/plugins/tools/tool.ts';
import type { ToolOutcome } from '../../server/engine/plugins/sandbox/tool_outcome.ts';
import { eventFor, filled, mappingsOf, merged } from '../factories/plugins/tool_trials.ts';
import type { ToolTrials, TrialValues } from '../factories/plugins/tool_trials.ts';
import type { Vendor } from './description.ts';
import { fill } from './template.ts';

const day_ms = 86_400_000;

/** Ids that all vendors accept; some require five characters. */
const person = { userId: 'ada-lovelace', anonymousId: 'anonymous-1' };

/** The tool of a vendor, at the vendor's receiver. */
export type VendorTrial = {
  mappings: ToolMapping[];
  /** Sends an event by a mapping, with changes of the event. */
  send(mapping: ToolMapping, event?: Record<string, unknown>): Promise<ToolOutcome>;
  /** Sends with the key that the vendor refuses. */
  sendWrong(mapping: ToolMapping): Promise<ToolOutcome>;
  /** Sends events in a batch. */
  sendBatch(mapping: ToolMapping, events: Record<string, unknown>[]): Promise<ToolOutcome[]>;
  close(): Promise<void>;
};

/** Loads the tool of a vendor. */
export async function openVendorTrial(trials: ToolTrials, vendor: Vendor): Promise<VendorTrial> {
  const { directory, variable, settings } = vendor;
  const tool = await trials.load(directory, variable === undefined ? {} : { [variable]: 'right' });
  const description = await trials.describe(tool);
  const mappings = mappingsOf(description).filter(({ name = '' }) => !(name in leftOut(vendor)));
  const valuesOf = (mapping: ToolMapping, event = {}): TrialValues => ({
    settings,
    fields: vendor.fields?.[mapping.partnerAction] ?? {},
    event: { ...person, ...eventOf(event) },
  });
  return {
    mappings,
    send: async (mapping, event) =>
      (await trials.send(tool, description, mapping, valuesOf(mapping, event))).outcome,
    sendWrong: async (mapping) => {
      const { $fields = {}, ...wrong } = vendor.wrong;
      const right = valuesOf(mapping);
      const more = {
        ...right,
        settings: { ...right.settings, ...wrong },
        fields: { ...right.fields, ...($fields as object) },
      };
      const own =
        variable === undefined ? tool : await trials.load(directory, { [variable]: 'no' });
      const { outcome } = await trials.send(own, description, mapping, more);
      if (own !== tool) await own.close();
      return outcome;
    },
    sendBatch: async (mapping, events) => {
      const { fields = {} } = valuesOf(mapping);
      const action = description.actions[mapping.partnerAction]!;
      const all = filled(description.slug ?? '', action.fields, mapping.mapping);
      return tool.call(
        'send_batch',
        {
          events: events.map((event) =>
            merged(eventFor(mapping.subscribe), { ...person, ...eventOf(event) }),
          ),
          batch: { size: 1_000, bytes: 4_000_000, keys: [] },
          settings: { ...settings },
          mapping: { ...mapping, mapping: { ...all, ...fields, enable_batching: true } },
        },
        AbortSignal.timeout(60_000),
      ) as Promise<ToolOutcome[]>;
    },
    close: () => tool.close(),
  };
}

function leftOut({ left_out = {} }: Vendor): Record<string, string> {
  return left_out;
}

/** Returns the changes of an event, with texts and times that are too long or too old. */
function eventOf(event: Record<string, unknown>): Record<string, unknown> {
  const values = {
    long: 'x'.repeat(300),
    old: new Date(Date.now() - 400 * day_ms).toISOString(),
  };
  return fill(event, values) as Record<string, unknown>;
}
