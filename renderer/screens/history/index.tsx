import { Empty } from '../../ui/feedback.tsx';

export default function Screen() {
  return <Empty title="Nothing is shown here yet." />;
}
