import type { TrialValues } from '../../../test/factories/plugins/tool_trials.ts';

/** The parts of a sample that one tool needs; `subscribe` is the filter if no preset has one. */
type Sample = {
  subscribe?: string;
  settings?: Record<string, unknown>;
  event?: Record<string, unknown>;
  /** By action. */
  fields?: Record<string, Record<string, unknown>>;
};

const properties = { '@path': '$.properties' };
const traits = { '@path': '$.context.traits' };
const emarsys_contact = { key_field: '3', key_value: { '@path': '$.context.traits.email' } };
const google_ids = { requiredId: { gclid: { '@path': '$.properties.gclid' } }, quantity: '1' };

/** Parts beside the usual event, by directory. */
const samples: Record<string, Sample> = {
  'acoustic-s3tc': {
    settings: { fileNamePrefix: 'acme_', s3_bucket_accesspoint_alias: 'acme-alias' },
    fields: { receiveEvents: { properties, traits } },
  },
  acoustic: {
    fields: { receiveEvents: { key_value_pairs: { name: { '@path': '$.context.traits.name' } } } },
  },
  'criteo-audiences': { event: { properties: { audience_key: 'buyers' } } },
  emarsys: {
    fields: {
      upsertContact: emarsys_contact,
      addToContactList: emarsys_contact,
      removeFromContactList: emarsys_contact,
      triggerEvent: emarsys_contact,
    },
  },
  'google-campaign-manager-360': {
    event: { properties: { gclid: 'Cj0KCQ' } },
    fields: { conversionUpload: google_ids, conversionAdjustmentUpload: google_ids },
  },
  gwen: { event: { userId: '0190163d-8694-739b-aea5-966c26f8ad90' } },
  memora: {
    fields: {
      upsertProfile: {
        memora_store: 'mem_store_1',
        profile_identifiers: { 'Contact.$.email': { '@path': '$.context.traits.email' } },
        profile_traits: { 'Contact.$.firstName': { '@path': '$.context.traits.firstName' } },
      },
    },
  },
  ortto: { settings: { api_key: 'peu-12345' } },
  'twilio-messaging': {
    fields: {
      sendMessage: {
        channel: 'SMS',
        senderType: 'Phone number',
        contentTemplateType: 'Inline',
        toPhoneNumber: { '@path': '$.context.traits.phone' },
        fromPhoneNumber: '+14155550100',
        inlineBody: 'Your order is on its way.',
      },
    },
  },
  'twilio-studio': { subscribe: 'type = "identify"' },
  voiceops: {
    event: {
      properties: {
        call_id: 'call-1',
        call_started_at: '1712683200',
        agent_email: 'ada@acme.com',
        recording_url: 'https://acme.com/call.wav',
      },
    },
  },
};

/** The values of a tool's sample for one of its actions. */
export function sampleOf(
  directory: string,
  action: string,
): TrialValues & Pick<Sample, 'subscribe'> {
  const { settings = {}, event = {}, fields = {}, subscribe } = samples[directory] ?? {};
  return { settings, event, fields: fields[action] ?? {}, subscribe };
}

/** Objects of an account that tools read before they send, as the vendors document them. */
const answers: [address: RegExp, answer: object | string][] = [
  [
    /goacoustic\.com\/XMLAPI$/,
    '<Envelope><Body><RESULT><SUCCESS>true</SUCCESS></RESULT></Body></Envelope>',
  ],
  [/api\.criteo\.com\/oauth2\/token$/, { access_token: 'token' }],
  [/api\.criteo\.com\/.*\/audience-segments\/search/, { data: [], meta: { totalItems: 0 } }],
  [/api\.criteo\.com\/.*\/audience-segments\/create$/, { data: [{ id: '4711' }] }],
  [/api\.emarsys\.net\//, { replyCode: 0, replyText: 'OK' }],
  [
    /receiver\.acme\.com\/in$/,
    { accountId: '1', attributes: [], events: [{ id: '7', key: 'Signed Up' }] },
  ],
  [/api\.optimizely\.com\/v2\/events\?/, []],
  [
    /api\.optimizely\.com\/.*\/custom_events$/,
    {
      id: 7,
      event_properties: ['Category', 'URL', 'SKU'].map((name) => ({ name, data_type: 'string' })),
    },
  ],
  [
    /profiles\.segment\.com\//,
    { data: [{ id: '+4915112345678', created_at: '2026-11-01T00:00:00Z' }] },
  ],
];

/** Returns the body of an answer to a request; without an account it is an empty object. */
export function answerAt(url: string): object | string {
  return answers.find(([address]) => address.test(url))?.[1] ?? {};
}
