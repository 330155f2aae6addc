import { escapeHtml } from '../../escape_html.ts';

/** Text that is already HTML. Only `html` creates it, so all other text on a page was escaped. */
class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A piece of a page that is safe to send. */
export type Html = Markup;

/**
 * Content of a piece: text is escaped; markup and lists of markup stay unchanged; undefined is
 * empty.
 */
export type Part = string | number | Html | readonly Html[] | undefined;

/**
 * Puts parts into markup, as html`<p>${name}</p>`. Guarantee: untrusted text appears as exactly
 * this text between tags and in quoted attributes. It is not for `<script>` and `<style>`, and a
 * URL in `href` or `action` must be ours.
 */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Markup(
    strings.reduce((text, string, index) => text + textOf(parts[index - 1]) + string),
  );
}

function textOf(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return escapeHtml(String(part));
}
