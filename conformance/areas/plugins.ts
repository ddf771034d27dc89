import { ask, askList, askText, ensure } from '../expect.ts';
import { each, flag, integer, text } from '../kinds.ts';
import { type Area, story } from '../resource.ts';
import { listed } from '../walk.ts';

/** Nothing in the document installs a plugin, so those that are there are used, or one that Holdfast installs by a way of its own. */
const plugins = story('plugins/plugins', async (step, world) => {
  const shape = {
    ...each(integer, 'id', 'plugin_port'),
    ...each(
      text,
      'plugin_name',
      'plugin_version',
      'plugin_arch',
      'plugin_pbiname',
      'plugin_path',
      'plugin_ip',
      'plugin_jail',
      'plugin_api_version',
    ),
    plugin_enabled: flag,
  };
  const own = await step('can be there', async () => {
    if (world.target.bundle === undefined || (await askList(world, 'plugins/plugins')).length > 0) return false;
    await ask(world, 200, 'POST', '/api/holdfast/v1/plugins', { bundle: world.target.bundle });
    return true;
  });
  await listed('plugins/plugins', (record) => String(record['id']), shape, step, world);
  const plugin = await step('is there', async () => {
    const last = (await askList(world, 'plugins/plugins', '?limit=0')).at(-1);
    ensure(last !== undefined, 'no plugin is installed');
    return `plugins/plugins/${String(last['id'])}`;
  });
  if (plugin === undefined) return;
  await step('is stopped', () => askText(world, 202, 'POST', `${plugin}/stop/`, 'Plugin stopped.'));
  await step('is started', () => askText(world, 202, 'POST', `${plugin}/start/`, 'Plugin started.'));
  if (own === true || world.target.disturb) await step('is removed', () => ask(world, 204, 'DELETE', `${plugin}/`));
});

export const pluginsArea: Area = { name: 'plugins', resources: [plugins] };
