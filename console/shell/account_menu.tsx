import { useMantineColorScheme } from '@mantine/core';
import IconApi from 'icon:api';
import IconBook2 from 'icon:book-2';
import IconCheck from 'icon:check';
import IconLogout from 'icon:logout';
import IconUser from 'icon:user';
import { useQuery } from '@tanstack/react-query';
import { addressOf } from '../http/address.ts';
import { Menu, MenuAction, MenuAddress, MenuLink } from '../page/menu.tsx';
import { account } from '../signed_in/account.ts';
import { useSignOut } from './sign_out.ts';
import { themes } from './themes.ts';

/** The menu of the signed-in person: the account, the theme, the documentation, and signing out. */
export function AccountMenu() {
  const { data } = useQuery(account);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  const name = data === undefined ? '' : `${data.first_name} ${data.last_name}`.trim();
  return (
    <Menu
      side="above"
      renderButton={(opener) => (
        <button type="button" className="place" {...opener}>
          <IconUser size={17} stroke={1.6} aria-hidden />
          <span>{name === '' ? (data?.email ?? 'Account') : name}</span>
        </button>
      )}
    >
      <MenuLink to="/account" icon={<IconUser size={15} aria-hidden />}>
        Account
      </MenuLink>
      <MenuAddress href={addressOf('/docs/')} icon={<IconBook2 size={15} aria-hidden />}>
        Documentation
      </MenuAddress>
      <MenuAddress href={addressOf('/docs/operations/')} icon={<IconApi size={15} aria-hidden />}>
        Operations of the API
      </MenuAddress>
      <div role="group" aria-label="Theme" className="menu_group">
        <div className="menu_label">Theme</div>
        {themes.map(({ value, label, icon: Icon }) => (
          <MenuAction
            key={value}
            act={() => setColorScheme(value)}
            icon={<Icon size={15} aria-hidden />}
            mark={colorScheme === value && <IconCheck size={14} aria-label="chosen" />}
          >
            {label}
          </MenuAction>
        ))}
      </div>
      <div role="group" aria-label="Session" className="menu_group">
        <MenuAction act={() => signOut()} icon={<IconLogout size={15} aria-hidden />}>
          Sign out
        </MenuAction>
      </div>
    </Menu>
  );
}
