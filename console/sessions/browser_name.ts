/** Patterns for browsers; those that also name others come first. */
const browsers: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\/(\d+)/, 'Edge'],
  [/\b(?:OPR|OPiOS)\/(\d+)/, 'Opera'],
  [/\bVivaldi\/(\d+)/, 'Vivaldi'],
  [/\bSamsungBrowser\/(\d+)/, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, 'Firefox'],
  [/\bHeadlessChrome\/(\d+)/, 'Headless Chrome'],
  [/\bCriOS\/(\d+)/, 'Chrome'],
  [/\bChrom(?:e|ium)\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)(?:\.\d+)* (?:Mobile\/\w+ )?Safari\//, 'Safari'],
];

const systems: [RegExp, string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
];

/** A program's name with its major version: `curl/8.5.0` becomes `curl 8`. */
const program = /^([A-Za-z][\w.+-]{0,40})\/v?(\d+)/;

/** Describes a `User-Agent`, such as `Firefox 128 on Linux`; returns its start if it is unknown. */
export function browserOf(user_agent: string): string {
  const text = user_agent.trim();
  if (text === '') return 'An unnamed browser';
  const browser =
    named(browsers, text) ?? (text.startsWith('Mozilla/') ? undefined : programOf(text));
  const system = systems.find(([pattern]) => pattern.test(text))?.[1];
  if (browser === undefined)
    return system === undefined ? shortened(text) : `A browser on ${system}`;
  return system === undefined ? browser : `${browser} on ${system}`;
}

function named(rules: [RegExp, string][], text: string): string | undefined {
  for (const [pattern, name] of rules) {
    const version = pattern.exec(text)?.[1];
    if (version !== undefined) return `${name} ${version}`;
  }
  return undefined;
}

function programOf(text: string): string | undefined {
  const [, name, version] = program.exec(text) ?? [];
  return name === undefined ? undefined : `${name} ${version}`;
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
