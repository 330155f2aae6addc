import { Menu, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { IconBook2, IconCheck, IconLogout, IconUser } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { addressOf } from '../http/address.ts';
import { account } from '../signed_in/account.ts';
import { useSignOut } from './sign_out.ts';
import { themes } from './themes.ts';

/** Shows a person's own menu: the account, the theme, the documentation, and signing out. */
export function AccountMenu() {
  const { data } = useQuery(account);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  const name = data === undefined ? '' : `${data.first_name} ${data.last_name}`.trim();
  return (
    <Menu position="top-start" width={220} shadow="md">
      <Menu.Target>
        <UnstyledButton className="place" w="100%">
          <IconUser size={17} stroke={1.6} aria-hidden />
          <span>{name === '' ? (data?.email ?? 'Account') : name}</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to="/account" leftSection={<IconUser size={15} aria-hidden />}>
          Account
        </Menu.Item>
        <Menu.Item
          component="a"
          href={addressOf('/docs/')}
          leftSection={<IconBook2 size={15} aria-hidden />}
        >
          Documentation of the API
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Theme</Menu.Label>
        {themes.map(({ value, label, icon: Icon }) => (
          <Menu.Item
            key={value}
            onClick={() => setColorScheme(value)}
            leftSection={<Icon size={15} aria-hidden />}
            rightSection={colorScheme === value && <IconCheck size={14} aria-label="chosen" />}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => signOut()} leftSection={<IconLogout size={15} aria-hidden />}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
