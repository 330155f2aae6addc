/**
 * The version of the rules below. Raise it with every change of them: rows record the version that
 * they follow.
 */
export const session_rules = 1;

/** Duration from which a session of one page is no bounce. */
const bounce_seconds = 10;

/** ClickHouse text of the rules' inputs; each is a text, empty if the event lacks it. */
export type Entry = {
  source: string;
  medium: string;
  campaign: string;
  /** Hosts of the previous page and of the page. */
  referrer: string;
  hostname: string;
  /** Ids that only paid search sets. */
  click_ids: string[];
};

const search =
  '(^|\\\\.)(google|bing|yahoo|duckduckgo|baidu|yandex|ecosia|qwant|startpage|naver|seznam|sogou|' +
  'brave|ask|aol|kagi)(\\\\.|$)';
const social =
  '(^|\\\\.)(facebook|instagram|threads|linkedin|lnkd|twitter|reddit|pinterest|tiktok|snapchat|' +
  'tumblr|vk|weibo|whatsapp|telegram|quora|bsky|mastodon|ycombinator)(\\\\.|$)|' +
  '^(www\\\\.)?(x\\\\.com|t\\\\.co)$';
const video = '(^|\\\\.)(youtube|youtu|vimeo|twitch|dailymotion|bilibili|wistia)(\\\\.|$)';
const shop =
  '(^|\\\\.)(amazon|ebay|etsy|walmart|alibaba|aliexpress|shopify|shopping|mercadolibre)(\\\\.|$)';

/**
 * Returns ClickHouse text for the channel of a session, from its entry event. The first matching
 * rule decides. The names are those of the field's default channels.
 */
export function channelType({
  source,
  medium,
  campaign,
  referrer,
  hostname,
  click_ids,
}: Entry): string {
  const has = (text: string, pattern: string) => `match(${text}, '${pattern}')`;
  // A page of the site itself counts as direct.
  const from = `if(${referrer} IN ('', '$direct', ${hostname}), '', ${referrer})`;
  const place = `if(${source} != '', ${source}, ${from})`;
  const isPaid = has(medium, '^(.*cp.|ppc|retargeting|paid.*)$');
  const isClicked = `(${click_ids.map((id) => `${id} != ''`).join(' OR ')})`;
  const isShop = `(${has(place, shop)} OR ${has(campaign, '(^|[^a-df-z])shop')})`;
  const rules: [string, string][] = [
    [has(campaign, 'cross-network'), 'Cross Network'],
    [`${isPaid} AND ${isShop}`, 'Paid Shopping'],
    [`${isClicked} OR (${isPaid} AND ${has(place, search)})`, 'Paid Search'],
    [`${isPaid} AND ${has(place, social)}`, 'Paid Social'],
    [`${isPaid} AND ${has(place, video)}`, 'Paid Video'],
    [`${medium} IN ('display', 'banner', 'expandable', 'interstitial', 'cpm')`, 'Display'],
    [isPaid, 'Paid Unknown'],
    [isShop, 'Organic Shopping'],
    [
      `${has(place, social)} OR ${has(medium, '^(social|social-network|social-media|sm)$')}`,
      'Organic Social',
    ],
    [`${has(place, video)} OR ${has(medium, 'video')}`, 'Organic Video'],
    [`${has(place, search)} OR ${medium} = 'organic'`, 'Organic Search'],
    [`${has(source, '^e[-_ ]?mail$')} OR ${has(medium, '^e[-_ ]?mail$')}`, 'Email'],
    [`${medium} = 'affiliate'`, 'Affiliate'],
    [`${medium} = 'audio'`, 'Audio'],
    [`${source} = 'sms' OR ${medium} = 'sms'`, 'SMS'],
    [has(medium, 'push$|mobile|notification'), 'Push'],
    [`${from} != '' OR ${medium} IN ('referral', 'app', 'link')`, 'Referral'],
    [`${source} = '' AND ${medium} = '' AND ${campaign} = ''`, 'Direct'],
  ];
  const cases = rules.flatMap(([condition, name]) => [condition, `'${name}'`]);
  return `multiIf(${cases.join(', ')}, 'Unknown')`;
}

/**
 * Returns ClickHouse text that is true for a bounce: one page, screen or click within ten seconds.
 * NULL for a session without any of them.
 */
export function isBounce(interactions: string, duration: string): string {
  const isShort = `${interactions} = 1 AND ${duration} < ${bounce_seconds}`;
  return `if(${interactions} = 0, NULL, ${isShort})`;
}
