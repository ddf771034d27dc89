import { go, link } from '../base/route.ts';
import { PageHead } from '../parts/page-head.tsx';
import { PoolMaker } from '../parts/pool-maker.tsx';
import * as t from '../texts/pages/new-pool.ts';

/** A new pool by hand: which disks, which layout, and what it will do. */
export default function NewPoolPage() {
  return (
    <>
      <PageHead up={[link('storage'), t.storage]} title={t.newPool} about={t.draftNothingHasHappenedYet} />
      <PoolMaker done={(name) => go(link('storage', 'pool', { name }))} />
    </>
  );
}
