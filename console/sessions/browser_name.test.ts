import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserOf } from './browser_name.ts';

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const windows = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/126.0.0.0`;
const mac = `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Chrome/125.0`;
const cases: [string, string][] = [
  [
    'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    'Firefox 128 on Linux',
  ],
  [`${windows} Safari/537.36`, 'Chrome 126 on Windows'],
  [`${windows} Safari/537.36 Edg/126.0.2`, 'Edge 126 on Windows'],
  [`${mac} Safari/537.36 OPR/111.0`, 'Opera 111 on macOS'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
      'Version/17.5 Safari/605.1.15',
    'Safari 17 on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 ' +
      '(KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    'Safari 17 on iPhone',
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
      'CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1',
    'Chrome 126 on iPad',
  ],
  [
    `Mozilla/5.0 (Linux; Android 14; Pixel 8) ${webkit} Chrome/126.0.0.0 Mobile Safari/537.36`,
    'Chrome 126 on Android',
  ],
  [
    `Mozilla/5.0 (X11; Linux x86_64) ${webkit} HeadlessChrome/126.0.0.0 Safari/537.36`,
    'Headless Chrome 126 on Linux',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64) Something', 'A browser on Linux'],
  ['curl/8.5.0', 'curl 8'],
  ['python-requests/2.32.3', 'python-requests 2'],
  ['Mozilla/4.0', 'Mozilla/4.0'],
  ['<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['x'.repeat(100), `${'x'.repeat(60)}…`],
  ['', 'An unnamed browser'],
  ['  ', 'An unnamed browser'],
];

for (const [user_agent, words] of cases)
  test(`"${user_agent.slice(0, 90)}" is ${words}`, () =>
    assert.equal(browserOf(user_agent), words));
