/** The purposes by which people search for a tool. */
export const tool_categories = [
  'advertising',
  'analytics',
  'billing',
  'crm',
  'data',
  'experiments',
  'guides',
  'loyalty',
  'messaging',
  'support',
] as const;

export type ToolCategory = (typeof tool_categories)[number];

/** The directories of the library by category. The library itself has no categories. */
const directories: Record<ToolCategory, string> = {
  advertising: `
    1plusx 1plusx-asset-api adjust amazon-conversions-api angler-ai attribution criteo-audiences
    dub epsilon facebook-conversions-api google-campaign-manager-360 iqm kevel kevel-audience
    linkedin-conversions magellan-ai moloco-rmp ms-bing-capi nextdoor-capi pinterest-conversions
    podscribe reddit-conversions-api revend revx roadwayai rokt-capi snap-conversions-api
    stackadapt tiktok-app-events tiktok-conversions tiktok-conversions-sandbox
    tiktok-offline-conversions tiktok-offline-conversions-sandbox topsort`,
  analytics: `
    accoil-analytics actable-predictive aggregations-io altertable amplitude app-fit avo avo-v2
    blend-ai calliper canvas dawn equals fullstory google-analytics-4 heap hilo june klime
    launchpad mixpanel playerzero-cloud posthog prodeology ripe trackey trubrics usermaven`,
  billing: `chartmogul lark m3ter mantle metronome schematic`,
  crm: `
    attio blackbaud-raisers-edge-nxt clay close collab-travel-crm hubspot hyperengage inleads-ai
    koala outfunnel pipedrive qualified salesforce saleswings toplyne usermotion voiceops`,
  data: `
    aws-kinesis google-sheets ironclad kafka memora s3 sftp singlestore
    webhook webhook-extensible zapier`,
  experiments: `
    absmartly adobe-target algolia-insights contentstack kameleoon launchdarkly movable-ink
    optimizely-data-platform optimizely-feature-experimentation-actions optimizely-web recombee
    vwo`,
  guides: `appcues gainsight-px-cloud-action jimo-cloud nudge userpilot`,
  loyalty: `antavo friendbuy gameball gwen livelike-cloud rehook talon-one voucherify yotpo`,
  messaging: `
    aampe acoustic acoustic-s3tc actions-pardot airship ambee attentive batch braze clevertap
    cordial courier customerio dotdigital drip emarsys encharge insider iterable klaviyo listrak
    loops moengage ortto pushwoosh responsys salesforce-marketing-cloud sendgrid slack taguchi
    twilio twilio-messaging twilio-studio voyage xtremepush yonoma`,
  support: `
    canny-functions devrev gleap intercom qualtrics spiffy sprig surveysparrow survicate`,
};

/** The most used tools, in the order at the top of the catalogue. */
const most_used = [
  'slack',
  'webhook',
  'google-analytics-4',
  'facebook-conversions-api',
  'hubspot',
  'salesforce',
  'mixpanel',
  'amplitude',
  'customerio',
  'braze',
  'klaviyo',
  'iterable',
  'intercom',
  'tiktok-conversions',
  'linkedin-conversions',
  'snap-conversions-api',
  'attentive',
];

const categories = new Map(
  Object.entries(directories).flatMap(([category, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name): [string, ToolCategory] => [name, category as ToolCategory]),
  ),
);

/** Returns the category of a tool by its directory; null for a tool that has none yet. */
export function categoryOf(directory: string): ToolCategory | null {
  return categories.get(directory) ?? null;
}

/** Splits the tools into the most used ones and the others, in order. */
export function byUse<Tool extends { directory: string }>(
  tools: Tool[],
): { first: Tool[]; others: Tool[] } {
  const placeOf = ({ directory }: Tool) => most_used.indexOf(directory);
  const first = tools.filter((tool) => placeOf(tool) >= 0);
  return {
    first: first.toSorted((one, other) => placeOf(one) - placeOf(other)),
    others: tools.filter((tool) => placeOf(tool) < 0),
  };
}
