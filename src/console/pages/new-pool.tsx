import { go, link } from '../base/route.ts';
import { PoolMaker } from '../parts/pool-maker.tsx';

/** A new pool by hand: which disks, which layout, and what it will do. */
export default function NewPoolPage() {
  return (
    <>
      <div class="row top">
        <a href={link('storage')}>Storage</a>
        <h1>New pool</h1>
        <span class="grow" />
        <span class="soft">Draft · nothing has happened yet</span>
      </div>
      <PoolMaker done={(name) => go(link('storage', 'pool', { name }))} />
    </>
  );
}
