import { type ComponentType, lazy } from 'react';
import type { IconName } from '../ui/icons.tsx';
import type { Route, ScreenName } from './routes.ts';

export interface ScreenProps {
  readonly route: Route;
}

export interface Screen {
  readonly name: ScreenName;
  readonly title: string;
  readonly icon: IconName;
  readonly key?: string;
  /** In the rail at the left; false: reached from other screens. */
  readonly rail: boolean;
  readonly view: ComponentType<ScreenProps>;
}

/** Every screen is a default export of `screens/NAME/index.tsx`, loaded when it is first shown. */
export const screens: readonly Screen[] = [
  {
    name: 'home',
    title: 'Home',
    icon: 'home',
    key: 'alt+1',
    rail: true,
    view: lazy(() => import('../screens/home/index.tsx')),
  },
  {
    name: 'kernel',
    title: 'Kernel',
    icon: 'kernel',
    key: 'alt+2',
    rail: true,
    view: lazy(() => import('../screens/kernel/index.tsx')),
  },
  {
    name: 'newtask',
    title: 'Own kernel',
    icon: 'kernel',
    rail: false,
    view: lazy(() => import('../screens/newtask/index.tsx')),
  },
  {
    name: 'run',
    title: 'Run',
    icon: 'run',
    key: 'alt+3',
    rail: true,
    view: lazy(() => import('../screens/run/index.tsx')),
  },
  {
    name: 'profile',
    title: 'Profile',
    icon: 'profile',
    key: 'alt+4',
    rail: true,
    view: lazy(() => import('../screens/profile/index.tsx')),
  },
  {
    name: 'history',
    title: 'History',
    icon: 'history',
    key: 'alt+5',
    rail: true,
    view: lazy(() => import('../screens/history/index.tsx')),
  },
  {
    name: 'compare',
    title: 'Compare',
    icon: 'compare',
    rail: false,
    view: lazy(() => import('../screens/compare/index.tsx')),
  },
  {
    name: 'settings',
    title: 'Settings',
    icon: 'settings',
    key: 'alt+6',
    rail: true,
    view: lazy(() => import('../screens/settings/index.tsx')),
  },
];
