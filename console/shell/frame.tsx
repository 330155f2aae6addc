import { ActionIcon, CloseButton } from '@mantine/core';
import IconMenu2 from 'icon:menu-2';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { TyperContext } from '../form/kept.ts';
import { InstanceBar } from '../page/around/instance_bar.tsx';
import { AroundContext } from '../page/around/around.ts';
import { Brand } from '../page/around/brand.tsx';
import { Dialog } from '../page/dialog.tsx';
import { LostNote } from './lost_note.tsx';
import { PartialNote } from './partial_note.tsx';
import { account } from '../signed_in/account.ts';
import { Navigation } from './navigation.tsx';
import { Outage } from './outage.tsx';
import { usePalette } from './palette/opener.tsx';

/** Navigation beside the page; on narrow screens, the navigation is behind a button. */
export function Frame() {
  const { pathname } = useLocation();
  // If it was opened on one page, it is closed on the next.
  const [opened_on, setOpenedOn] = useState<string>();
  const main = useFocusAfterNavigation(pathname);
  const { data: own } = useQuery(account);
  const { open, palette } = usePalette();
  return (
    <div className="frame">
      <a className="unseen skip" href="#main">
        To the content
      </a>
      <InstanceBar />
      <header className="side">
        <Navigation openPalette={open} />
      </header>
      <header className="top">
        <ActionIcon variant="subtle" aria-label="Navigation" onClick={() => setOpenedOn(pathname)}>
          <IconMenu2 size={18} aria-hidden />
        </ActionIcon>
        <Brand />
      </header>
      {opened_on === pathname && (
        <Dialog title="Navigation" is_drawer close={() => setOpenedOn(undefined)}>
          <CloseButton
            className="drawer_close"
            aria-label="Close the navigation"
            onClick={() => setOpenedOn(undefined)}
          />
          <Navigation
            openPalette={() => {
              setOpenedOn(undefined);
              open();
            }}
          />
        </Dialog>
      )}
      <main className="main" id="main" tabIndex={-1} ref={main}>
        <TyperContext value={own?.uuid}>
          <Outage />
          <PartialNote />
          <LostNote />
          <AroundContext value="frame">
            <Outlet />
          </AroundContext>
        </TyperContext>
      </main>
      {palette}
    </div>
  );
}

/**
 * Returns the element that gets the focus after navigation, so that keyboard and screen readers
 * continue there. Not for the first page, where the browser starts anyway.
 */
function useFocusAfterNavigation(pathname: string) {
  const place = useRef<HTMLElement>(null);
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    place.current?.focus({ preventScroll: true });
  }, [pathname]);
  return place;
}
