import { go, link } from '../base/route.ts';
import { PoolMaker } from '../parts/pool-maker.tsx';
import * as t from '../texts/pages/new-pool.ts';

/** A new pool by hand: which disks, which layout, and what it will do. */
export default function NewPoolPage() {
  return (
    <>
      <div class="row top">
        <a href={link('storage')}>{t.storage}</a>
        <h1>{t.newPool}</h1>
        <span class="grow" />
        <span class="soft">{t.draftNothingHasHappenedYet}</span>
      </div>
      <PoolMaker done={(name) => go(link('storage', 'pool', { name }))} />
    </>
  );
}
