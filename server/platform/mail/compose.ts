import { escapeHtml } from '../escape_html.ts';
import { cleanText, oneLine, withoutLinks } from './plain_text.ts';

/** Content of a mail. Every part may be untrusted text; it is never interpreted as HTML. */
export type MailContent = {
  heading: string;
  paragraphs: string[];
  /** Another person's text, shown as a quotation after the paragraphs, with its lines. */
  quote?: string;
  /** The one thing to do. */
  action?: { label: string; url: string };
  footer?: string;
};

const page = 'margin:0;padding:24px 16px';
// No colours of page and text: mail programs choose light or dark themselves, so our colours could
// make text unreadable.
const column =
  "max-width:560px;margin:0 auto;font-family:-apple-system,'Segoe " +
  "UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;overflow-wrap:break-word";
const title = 'margin:0 0 16px;font-size:22px;line-height:1.3';
const paragraph = 'margin:0 0 16px';
const quotation = 'margin:0 0 16px;padding:0 0 0 16px;border-left:4px solid #888888';
const button =
  'display:inline-block;padding:12px 20px;border-radius:6px;background-color:#1d4ed8;' +
  'color:#ffffff;font-weight:bold;text-decoration:none';
const small = 'margin:0 0 16px;font-size:14px';
const link = 'word-break:break-all';

/**
 * Returns both forms of a mail: `text` has the full URL of the action on its own line, `html` needs
 * no external image, font or style. Throws for an action whose URL is not http or https.
 */
export function compose(content: MailContent): { text: string; html: string } {
  const action =
    content.action === undefined
      ? undefined
      : { label: content.action.label, url: webAddress(content.action.url) };
  return { text: composeText(content, action), html: composeHtml(content, action) };
}

/** Returns the URL in its normal form, which has no space, quote or angle bracket. */
function webAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The URL may contain a secret, so the error does not repeat it.
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw new TypeError('The action of a mail needs an http or https address.');
  return url.href;
}

function composeText(
  { heading, paragraphs, quote, footer }: MailContent,
  action: MailContent['action'],
): string {
  const parts = [
    withoutLinks(heading),
    ...paragraphs.map(cleanText),
    ...(quote === undefined ? [] : [cleanText(quote).replace(/^/gm, '> ')]),
    ...(action === undefined ? [] : [`${oneLine(action.label)}:\n${action.url}`]),
    ...(footer === undefined ? [] : [cleanText(footer)]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function composeHtml(
  { heading, paragraphs, quote, footer }: MailContent,
  action: MailContent['action'],
): string {
  const lines = (text: string) => escapeHtml(cleanText(text)).replaceAll('\n', '<br>');
  const parts = [
    `<h1 dir="auto" style="${title}">${escapeHtml(withoutLinks(heading))}</h1>`,
    ...paragraphs.map((text) => `<p dir="auto" style="${paragraph}">${lines(text)}</p>`),
    ...(quote === undefined
      ? []
      : [`<blockquote dir="auto" style="${quotation}">${lines(quote)}</blockquote>`]),
    ...(action === undefined ? [] : composeAction(action)),
    ...(footer === undefined ? [] : [`<p dir="auto" style="${small}">${lines(footer)}</p>`]),
  ];
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(withoutLinks(heading))}</title>
</head>
<body style="${page}">
<div style="${column}">
${parts.join('\n')}
</div>
</body>
</html>
`;
}

function composeAction({ label, url }: { label: string; url: string }): string[] {
  const address = escapeHtml(url);
  return [
    `<p style="${paragraph}"><a href="${address}" ` +
      `style="${button}">${escapeHtml(oneLine(label))}</a></p>`,
    `<p style="${small}">If the button does not work, open this address:<br><a ` +
      `href="${address}" style="${link}">${address}</a></p>`,
  ];
}
