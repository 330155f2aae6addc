/**
 * Charts ask for numbers in the browser's language when they are loaded. A browser on a system
 * without a language has one that is none (`en-US@posix`), and would have no charts: it gets one.
 */
export function giveKnownLanguage(): void {
  try {
    Intl.NumberFormat.supportedLocalesOf(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
  }
}
