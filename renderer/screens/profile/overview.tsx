import { FindingsPanel, OccupancyPanel } from './findings-panel.tsx';
import { CollectionPanel, LaunchPanel } from './launch-panel.tsx';
import type { ProfileContext } from './profile-screen.tsx';
import { HottestPanel, RooflinePanel } from './roofline-panel.tsx';
import { VerdictPanel } from './speed-panel.tsx';

/** Verdict, speed of light, roofline, occupancy, findings, launches, and how it was collected. */
export function Overview({ context }: { readonly context: ProfileContext }) {
  return (
    <div className="profile-scroll profile-grid">
      <div className="profile-column">
        <VerdictPanel context={context} />
        <FindingsPanel context={context} />
        <OccupancyPanel context={context} />
      </div>
      <div className="profile-column">
        <RooflinePanel context={context} />
        <HottestPanel context={context} />
        <LaunchPanel context={context} />
        <CollectionPanel context={context} />
      </div>
    </div>
  );
}
