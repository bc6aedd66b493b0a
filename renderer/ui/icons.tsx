import type { ReactNode } from 'react';

/** Line icons on a 16-pixel grid, drawn in the text's colour. */
const shapes = {
  kernel: (
    <path d="M5 2.5h6a.5.5 0 0 1 .5.5v10a.5.5 0 0 1-.5.5H5a.5.5 0 0 1-.5-.5V3a.5.5 0 0 1 .5-.5ZM2 5h2.5M2 8h2.5M2 11h2.5M11.5 5H14M11.5 8H14M11.5 11H14" />
  ),
  run: <path d="M4.5 3v10l8-5-8-5Z" />,
  profile: <path d="M2.5 13.500v-4M6.2 13.500v-8M9.8 13.500v-6M13.5 13.500v-11M1.5 13.500h13" />,
  history: <path d="M8 4.500V8l2.5 1.500M2.6 6.500A5.6 5.6 0 1 1 2.5 9.400M2.5 3.200v3.300h3.3" />,
  compare: <path d="M8 2v12M2.5 4.500H6v7H2.500zM10 4.500h3.500v7H10z" />,
  settings: <path d="M2 4.500h7M12 4.500h2M2 11.500h2M7 11.500h7M10.5 3v3M5.5 10v3" />,
  home: <path d="M2.5 7.5 8 3l5.5 4.500M4 6.500v6.500h8V6.5" />,
  search: <path d="M7 11.500a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3 13.5 13.5" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  check: <path d="m3 8.5 3.2 3.200L13 4.8" />,
  cross: <path d="m4.5 4.5 7 7M11.5 4.500l-7 7" />,
  warn: <path d="M8 2.5 14 13H2L8 2.500ZM8 6.500v3M8 11.200v.3" />,
  info: <path d="M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 7.500V11M8 5v.3" />,
  pause: <path d="M5.5 3.500v9M10.5 3.500v9" />,
  stop: <path d="M4 4h8v8H4z" />,
  copy: <path d="M5.5 5.500h7v8h-7zM10.5 5.500v-3h-7v8h2" />,
  down: <path d="m4 6 4 4 4-4" />,
  right: <path d="m6 4 4 4-4 4" />,
  up: <path d="m4 10 4-4 4 4" />,
  plus: <path d="M8 3v10M3 8h10" />,
  equal: <path d="M3.5 6h9M3.5 10h9" />,
  wait: (
    <path d="M4.5 2.500h7M4.5 13.500h7M5 2.500c0 3 3 4 3 5.500s-3 2.5-3 5.500M11 2.500c0 3-3 4-3 5.500s3 2.5 3 5.5" />
  ),
  dot: <path d="M8 6.500a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3Z" />,
  pin: <path d="M6 2.500h4l-.5 4 2 2.500h-7l2-2.5-.5-4ZM8 9v5" />,
  trash: <path d="M3 4.500h10M6.5 4.500v-2h3v2M4.5 4.500l.5 9h6l.5-9" />,
  edit: <path d="M3 13v-2.500l7.5-7.500L13 5.5 5.5 13H3Z" />,
  branch: (
    <path d="M5 3.500v9M5 9c0-2 6-1.5 6-4.500M5 3.500a1 1 0 1 0 0-.1M5 12.600a1 1 0 1 0 0 .1M11 4.400a1 1 0 1 0 0-.1" />
  ),
  export: <path d="M8 9.500v-7M5 5l3-3 3 3M3 9.500v4h10v-4" />,
  sun: (
    <path d="M8 10.500a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM8 1.500V3M8 13v1.500M1.5 8H3M13 8h1.500M3.4 3.400l1 1M11.6 11.600l1 1M12.6 3.400l-1 1M4.4 11.600l-1 1" />
  ),
  moon: <path d="M13 9.800A5.5 5.5 0 0 1 6.2 3a5.5 5.5 0 1 0 6.8 6.800Z" />,
  system: <path d="M2 3h12v8H2zM5.5 13.500h5" />,
  external: <path d="M9 3h4v4M13 3 7.5 8.500M11 9.500V13H3V5h3.5" />,
  retry: <path d="M13 8A5 5 0 1 1 11.3 4.200M11.5 1.800v2.700H8.8" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

/** Decoration: the control around it carries the label. */
export function Icon({ name, size = 14 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {shapes[name]}
    </svg>
  );
}
