/*
 * Charts ask for numbers in the browser's language when they are loaded. A browser on a system
 * without a language has one that is none (`en-US@posix`), and would have no charts at all.
 */
try {
  Intl.NumberFormat.supportedLocalesOf(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}
