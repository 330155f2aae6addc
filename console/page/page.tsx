import { useQuery } from '@tanstack/react-query';
import { useContext, useEffect } from 'react';
import type { ReactNode } from 'react';
import { instance } from './around/instance.ts';
import { InstanceBar } from './around/instance_bar.tsx';
import { useActions } from './actions.ts';
import type { PageAction } from './actions.ts';
import { AsCurl, curl } from './as_curl.tsx';
import { Brand } from './around/brand.tsx';
import { useHasDates } from '../time/dates.ts';
import { ZoneContext } from '../time/instant.tsx';

/**
 * The main part of the console: the title, also of the tab, the actions on the page, and the
 * content.
 */
export function Page({
  title,
  part,
  attention = 0,
  actions,
  request,
  has_menu = false,
  children,
}: {
  title: string;
  /** Distinguishes pages with the same title in the browser's tab and history. */
  part?: string | undefined;
  /** Number of objects on the page that need attention, for the tab's title. */
  attention?: number | undefined;
  actions?: ReactNode;
  /** The API path of the page's data, shown as a command. */
  request?: string | undefined;
  /** True if the actions have a menu that shows the command. */
  has_menu?: boolean;
  children: ReactNode;
}) {
  const place = part === undefined ? title : `${part}, ${title}`;
  useTitle(attention === 0 ? place : `(${attention.toLocaleString('en')}) ${place}`);
  useActions(request === undefined ? [] : [copyOf(request)]);
  return (
    <>
      <header className="page_head">
        <h1>
          <bdi>{title}</bdi>
        </h1>
        <div className="page_actions">
          <Zone />
          {actions}
          {request !== undefined && !has_menu && <AsCurl path={request} />}
        </div>
      </header>
      {children}
    </>
  );
}

/** Shows the time zone of all dates on the page, once. */
function Zone() {
  const zone = useContext(ZoneContext);
  return useHasDates() ? <span className="page_zone">Times in {zone}</span> : undefined;
}

/** A page before the sign-in: one narrow column. */
export function PlainPage({
  title,
  is_wide = false,
  children,
}: {
  title: string;
  /** True for sections instead of one short form. */
  is_wide?: boolean;
  children?: ReactNode;
}) {
  useTitle(title);
  return (
    <>
      <InstanceBar />
      <main className={is_wide ? 'plain plain_wide' : 'plain'}>
        <Brand />
        <h1>{title}</h1>
        {children}
      </main>
    </>
  );
}

function copyOf(request: string): PageAction {
  return {
    label: 'Copy the request of this page as curl',
    run: async () => {
      // The types wrongly say that every page has one; over plain http none does.
      const clipboard = navigator.clipboard as Clipboard | undefined;
      const copied = clipboard?.writeText(curl(request));
      const refused = 'The browser did not allow copying. "As curl" on the page shows the request.';
      return copied === undefined
        ? refused
        : copied.then(
            () => 'Copied.',
            () => refused,
          );
    },
  };
}

function useTitle(title: string): void {
  const name = useQuery(instance).data?.name ?? undefined;
  useEffect(() => {
    document.title = [...(name === undefined ? [] : [name]), title, 'Sluice'].join(' - ');
  }, [title, name]);
}
