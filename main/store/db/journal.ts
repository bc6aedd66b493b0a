import { statfs } from 'node:fs/promises';

export type JournalMode = 'wal' | 'delete';

/** File systems of the local machine, by the magic number statfs reports on Linux: WAL's shared memory works there. */
const localOnLinux = new Set([
  0xef53, // ext2/3/4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x2fc12fc1, // zfs
  0xf2f52010, // f2fs
  0xca451a4e, // bcachefs
  0x01021994, // tmpfs
  0x858458f6, // ramfs
  0x794c7630, // overlayfs
  0x3153464a, // jfs
  0x52654973, // reiserfs
]);
/** apfs and hfs. */
const localOnMac = new Set([0x1a, 0x11]);

/**
 * WAL needs memory shared by all processes that use the file: wrong results over NFS and the like. Whatever is not known
 * to be local gets the rollback journal, which only needs file locks.
 */
export function journalFor(platform: string, fsType: number, path: string): JournalMode {
  if (platform === 'win32') return path.startsWith('\\\\') ? 'delete' : 'wal';
  if (platform === 'darwin') return localOnMac.has(fsType) ? 'wal' : 'delete';
  return localOnLinux.has(fsType >>> 0) ? 'wal' : 'delete';
}

export async function journalOf(folder: string): Promise<JournalMode> {
  const type = await statfs(folder).then(
    (s) => Number(s.type),
    () => -1,
  );
  return journalFor(process.platform, type, folder);
}
