import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRobot, openTraffic } from './traffic.ts';
import type { Traffic } from './traffic.ts';

const chrome =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 ' +
  'Safari/537.36';

test('robots are told from browsers and from libraries of servers', () => {
  const robots = [
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
    chrome.replace('Chrome', 'HeadlessChrome'),
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2)',
    'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)',
    'Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
    'Twitterbot/1.0',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'Mozilla/5.0 (Linux; Android 11) Chrome-Lighthouse',
    'LinkedInBot/1.0 (compatible; Mozilla/5.0)',
  ];
  const others = [
    chrome,
    'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1',
    'Mozilla/5.0 (Linux; Android 13; CUBOT X70) AppleWebKit/537.36 Mobile Safari/537.36',
    'posthog-node/5.70.0',
    'analytics-node-next/latest',
    'python-requests/2.32',
    'curl/8.10.1',
    'node',
    'okhttp/4.12.0',
    'Go-http-client/2.0',
  ];
  assert.deepEqual(
    robots.filter((agent) => !isRobot(agent)),
    [],
  );
  assert.deepEqual(
    others.filter((agent) => isRobot(agent)),
    [],
  );
});

const wanted: Traffic = {
  robot_events: 'drop',
  internal_events: 'mark',
  internal_addresses: ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7'],
  user_agent: chrome,
  address: '192.0.2.1',
  team_id: 1,
  intake: undefined,
  visitor_salt: '',
};
const cases: [says: string, properties: unknown, sender: Partial<Traffic>, judged?: string][] = [
  ['somebody', {}, {}],
  ['a robot by the head', {}, { user_agent: 'Googlebot/2.1' }, 'robot drop'],
  ['a robot by the event', { $raw_user_agent: 'Twitterbot/1.0' }, {}, 'robot drop'],
  ['a browser by the event', { $raw_user_agent: chrome }, { user_agent: 'Googlebot/2.1' }],
  ['a robot by the context', { context: { userAgent: 'bingbot/2.0' } }, {}, 'robot drop'],
  ['an office', {}, { address: '203.0.113.9' }, 'internal mark'],
  ['one address', {}, { address: '198.51.100.7' }, 'internal mark'],
  ['beside it', {}, { address: '198.51.100.8' }],
  ['an office in version 6', {}, { address: '2001:db8::1' }, 'internal mark'],
  ['an office in both versions', {}, { address: '::ffff:203.0.113.9' }, 'internal mark'],
  ['a server in the office', {}, { address: '203.0.113.9', user_agent: 'posthog-node/5' }],
  [
    'a server that names the office',
    { $ip: '203.0.113.9' },
    { user_agent: 'posthog-node/5' },
    'internal mark',
  ],
  ['the context of a call', { context: { ip: '203.0.113.9' } }, {}, 'internal mark'],
  ['no address', { $ip: 'x' }, { address: '203.0.113.9' }],
  ['no properties', 7, { address: '203.0.113.9' }, 'internal mark'],
];
for (const [says, properties, sender, judged] of cases)
  test(`traffic: ${says}`, () => {
    const found = openTraffic({ ...wanted, ...sender })!(properties);
    assert.equal(found === undefined ? undefined : `${found.kind} ${found.fate}`, judged);
  });

test('a project that keeps everything has no judge', () => {
  const all = { ...wanted, robot_events: 'keep', internal_events: 'keep' } as const;
  assert.equal(openTraffic(all), undefined);
  assert.equal(openTraffic(undefined), undefined);
});
