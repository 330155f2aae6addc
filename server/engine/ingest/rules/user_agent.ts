import { UAParser } from 'ua-parser-js';
import type { JsonObject } from '../parse/exact_json.ts';

/** The properties that a user agent determines, in the names and words of posthog-js. */
type Device = {
  $browser: string;
  $browser_version: number | undefined;
  $os: string | undefined;
  $os_version: string | undefined;
  $device_type: string;
};

/** The names that posthog-js uses for browsers and systems where the library's differ. */
const words: Record<string, string> = {
  Edge: 'Microsoft Edge',
  IE: 'Internet Explorer',
  'Mac OS': 'Mac OS X',
  'Chromium OS': 'Chrome OS',
  Ubuntu: 'Linux',
  Debian: 'Linux',
  Fedora: 'Linux',
};
const device_types: Record<string, string> = {
  mobile: 'Mobile',
  tablet: 'Tablet',
  console: 'Console',
  smarttv: 'TV',
  wearable: 'Wearable',
};

/** Parsing a text takes 70 microseconds, and the same browser sends many. */
const known = new Map<string, Device | undefined>();
const known_max = 2_000;

/** Longest text that is parsed: browsers send some 200 characters. */
const text_length_max = 500;

/**
 * Adds the browser, system and device of the event's own `$raw_user_agent`, or else of the other
 * text. Keeps existing properties, and only adds a version beside its name. Returns the same object
 * if there is nothing to add.
 */
export function withDevice(properties: JsonObject, otherwise: string | undefined): JsonObject {
  const own = Object.hasOwn(properties, '$raw_user_agent') ? properties['$raw_user_agent'] : '';
  const text = typeof own === 'string' && own !== '' ? own : otherwise;
  const device = text === undefined ? undefined : deviceOf(text.slice(0, text_length_max));
  if (device === undefined) return properties;
  const { $browser, $browser_version, $os, $os_version, $device_type } = device;
  const added: JsonObject = {};
  if (!Object.hasOwn(properties, '$browser')) Object.assign(added, { $browser, $browser_version });
  if (!Object.hasOwn(properties, '$os')) Object.assign(added, { $os, $os_version });
  if (!Object.hasOwn(properties, '$device_type')) added['$device_type'] = $device_type;
  return Object.keys(added).length === 0 ? properties : { ...added, ...properties };
}

function deviceOf(text: string): Device | undefined {
  if (known.has(text)) return known.get(text);
  if (known.size >= known_max) known.clear();
  const device = readDevice(text);
  known.set(text, device);
  return device;
}

function readDevice(text: string): Device | undefined {
  const { browser, os, device } = new UAParser(text).getResult();
  // A program or a robot is no browser.
  if (browser.name === undefined) return undefined;
  const is_ios = os.name === 'iOS' && /^(Chrome|Firefox)$/.test(browser.name);
  const version = Number.parseFloat(browser.version ?? '');
  return {
    $browser: is_ios ? `${browser.name} iOS` : (words[browser.name] ?? browser.name),
    $browser_version: Number.isNaN(version) ? undefined : version,
    $os: os.name === undefined ? undefined : (words[os.name] ?? os.name),
    $os_version: os.version,
    $device_type: device_types[device.type ?? ''] ?? 'Desktop',
  };
}
