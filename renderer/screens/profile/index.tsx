import { go } from '../../app/navigation.ts';
import type { ScreenProps } from '../../app/screens.tsx';
import { Profile } from './profile-screen.tsx';
import { VersionPicker } from './version-picker.tsx';

/** `#/profile/VERSION?with=VERSION&tab=code&launch=0`; without a version: which ones there are. */
export default function Screen({ route }: ScreenProps) {
  const version = route.path[0];
  if (version === undefined)
    return <VersionPicker title="Profile of which version?" onPick={(id) => go('profile', [id])} />;
  return <Profile key={version.split(':')[0]} version={version} query={route.query} />;
}
