/**
 * Charts format numbers in the browser's language when they are loaded. On a system without a
 * language, some browsers have an invalid one (`en-US@posix`), which would break all charts, so
 * this sets a valid one.
 */
export function giveKnownLanguage(): void {
  try {
    Intl.NumberFormat.supportedLocalesOf(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
  }
}
