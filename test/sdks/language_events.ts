/** An event of the programs of scripts/campaigns/sdks, in its stored form. */
export type WantedEvent = {
  event: string;
  /** Undefined if the client creates it. */
  distinct_id?: string;
  timestamp?: string;
  /** These properties and others. */
  properties: Record<string, unknown>;
  /** Parts of the JSON that JavaScript would read differently. */
  as_written?: readonly string[];
};

const bought: WantedEvent = {
  event: 'bought',
  distinct_id: 'ada',
  timestamp: '2026-11-01 10:20:30.123000',
  properties: {
    sent: 'Zürich 😀 "quoted"',
    price: 1.5,
    list: [1, 'a'],
    nothing: null,
    flag: true,
  },
  as_written: ['"count":9007199254740993'],
};

const group = { $group_type: 'company', $group_key: 'acme', $group_set: { size: 3 } };
const ofAda = (event: string, properties: WantedEvent['properties']) => ({
  event,
  distinct_id: 'ada',
  properties,
});
const contexts: Record<string, object> = {
  'Python, segment-analytics-python': { library: { name: 'analytics-python', version: '2.4.0' } },
  'Go, analytics-go': { library: { name: 'analytics-go', version: '3.0.0' } },
  // It repeats the traits there, in `identify` only.
  'Python, rudder-sdk-python': {},
};

function segmentEvents(context: object): readonly WantedEvent[] {
  const about = Object.keys(context).length === 0 ? {} : { context };
  return [
    { ...bought, properties: { ...bought.properties, userId: 'ada', ...about } },
    ofAda('$identify', {
      userId: 'ada',
      anonymousId: 'visitor',
      $anon_distinct_id: 'visitor',
      $set: { name: 'Ada' },
      ...about,
    }),
    ofAda('$pageview', {
      $current_url: 'https://shop.example/',
      url: 'https://shop.example/',
      category: 'shop',
      name: 'Home',
      ...about,
    }),
    ofAda('$screen', { $screen_name: 'Cart', category: 'shop', name: 'Cart', n: 1, ...about }),
    ofAda('$groupidentify', {
      $group_type: 'group',
      $group_key: 'acme',
      $group_set: { size: 3 },
      groupId: 'acme',
      ...about,
    }),
    ofAda('$create_alias', { alias: 'earlier', userId: 'ada', ...about }),
  ];
}

const page = { $current_url: 'https://shop.example/', url: 'https://shop.example/', page: 'Home' };

/** The events of each client. */
export const wanted_events: Record<string, readonly WantedEvent[]> = {
  'Python, posthog': [
    { ...bought, properties: { ...bought.properties, $lib: 'posthog-python' } },
    ofAda('$set', { $set: { plan: 'pro' } }),
    ofAda('$set_once', { $set_once: { first: 'x' } }),
    { event: '$create_alias', distinct_id: 'visitor', properties: { alias: 'ada' } },
    // An event without an id; the client creates one.
    { event: '$groupidentify', properties: group },
    ofAda('$exception', { $exception_level: 'error' }),
  ],
  'Go, posthog-go': [
    { ...bought, properties: { ...bought.properties, $lib: 'posthog-go' } },
    ofAda('$identify', { $set: { plan: 'pro' } }),
    ofAda('$create_alias', { alias: 'visitor' }),
    { event: '$groupidentify', distinct_id: '$company_acme', properties: group },
  ],
  'Python, snowplow-tracker': [
    {
      ...bought,
      properties: { ...bought.properties, $schema: 'iglu:com.acme/bought/jsonschema/1-0-0' },
    },
    ofAda('$pageview', { ...page, $title: 'Home', $referrer: 'https://found.example/' }),
    ofAda('page_ping', { ...page, pp_may: '300' }),
    ofAda('structured_event', {
      category: 'shop',
      action: 'add',
      label: 'tea',
      property: 'green',
      value: '2.5',
    }),
    ofAda('screen_view', { id: 's1', name: 'Cart' }),
  ],
  ...Object.fromEntries(
    Object.entries(contexts).map(([client, context]) => [client, segmentEvents(context)]),
  ),
};
