/** The console in a browser: Debian's Chromium, which lab/browser unpacks, against a virtual appliance or a machine. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { buildConsole } from '../../scripts/console.ts';
import type { ConsoleFiles } from '../../src/http/console.ts';
import { type Appliance, type ApplianceOptions, appliance, rootPassword } from './appliance.ts';
import { withPalette } from './png.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** A browser and its windows. */
export interface Windows extends AsyncDisposable {
  /** A window that has opened the console, before the sign-in. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** What went wrong in a window: errors of scripts, and requests to elsewhere. */
  readonly mishaps: readonly string[];
}

export interface Visited extends Windows {
  readonly box: Appliance;
  readonly files: ConsoleFiles;
  /** A window in which root is signed in. */
  signedIn(options?: BrowserContextOptions): Promise<Page>;
}

/** Starts a browser, with further `options` of Chromium, whose windows open the console at an address. */
export async function browserAt(url: string, options: readonly string[] = []): Promise<Windows> {
  const { status, stdout } = spawnSync(`${root}/lab/browser`, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(stdout);
  const browser: Browser = await chromium.launch({
    executablePath: stdout.trim(),
    // Text with coloured edges would have many colours, which take space in pictures.
    args: ['--no-sandbox', '--disable-lcd-text', ...options],
  });
  const mishaps: string[] = [];
  return {
    mishaps,
    async open(windowOptions = {}) {
      const context = await browser.newContext({
        ...{ viewport: { width: 1280, height: 800 }, locale: 'en-GB' },
        ...windowOptions,
      });
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      page.on('pageerror', (error) => void mishaps.push(error.message));
      page.on('request', (request) => {
        if (new URL(request.url()).hostname !== new URL(url).hostname && !request.url().startsWith('data:'))
          mishaps.push(request.url());
      });
      await page.goto(url);
      return page;
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/**
 * An appliance with pools, datasets, a share and a task, with the history in the new folder `measured` if there is one; or
 * the one whose state is in `folder`, as it is. An empty folder is an empty machine.
 */
export async function visited(
  folder?: string,
  measured?: string,
  machine: Pick<ApplianceOptions, 'disks' | 'directories' | 'exposure' | 'around'> = {},
): Promise<Visited> {
  const files = await buildConsole();
  const box = await appliance({
    console: files,
    ...machine,
    ...(folder !== undefined && { folder }),
    ...(measured !== undefined && { folder: measured, keepsHistory: true }),
  });
  if (folder === undefined) await furnish(box);
  const windows = await browserAt(`${box.api.url}/`);
  return {
    ...{ box, files, ...windows },
    async signedIn(options) {
      const page = await windows.open(options);
      await signIn(page, rootPassword);
      await page.getByRole('navigation').waitFor();
      return page;
    },
    async [Symbol.asyncDispose]() {
      await windows[Symbol.asyncDispose]();
      await box[Symbol.asyncDispose]();
    },
  };
}

export async function signIn(page: Page, password: string): Promise<void> {
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function furnish({ api }: Appliance): Promise<void> {
  const layout = [
    { vdevtype: 'raidz', disks: ['ada0', 'ada1', 'ada2'] },
    { vdevtype: 'spare', disks: ['ada3'] },
  ];
  await api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  await api.expect(201, 'POST', 'storage/volume/', {
    ...{ volume_name: 'fast', layout: [{ vdevtype: 'mirror', disks: ['ada4', 'ada5'] }] },
  });
  const limits = { home: { refreservation: '700M' }, media: { quota: '1G' }, work: { refreservation: '300M' } };
  for (const [name, limit] of Object.entries(limits))
    await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name, ...limit });
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/media', cifs_comment: 'Films and music' });
  await api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/home'] });
  await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await api.expect(201, 'POST', 'tasks/cronjob/', {
    ...{
      cron_user: 'root',
      cron_command: 'true',
      cron_description: 'Rotate the keys',
      cron_minute: '0',
      cron_hour: '3',
    },
  });
  await api.expect(201, 'POST', 'account/users/', {
    ...{ bsdusr_username: 'anna', bsdusr_full_name: 'Anna', bsdusr_password: 'her long password' },
    bsdusr_creategroup: true,
  });
}

/** Opens a page of the console by its address behind `#`, and waits until nothing is read any more. */
export async function visit(page: Page, address: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
  await page
    .locator('main')
    .getByText(/^(Reading|Opening) .*…$/)
    .first()
    .waitFor({ state: 'detached' });
  await page.locator('main h1').first().waitFor();
}

/** What axe finds by the rules of WCAG 2.2 AA and its best practices. */
export async function findings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const found: unknown = await page.evaluate(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
      .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  );
  return Array.isArray(found) ? found.map(String) : [String(found)];
}

/** Stores a picture for the documentation, if HOLDFAST_PICTURES is set. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env['HOLDFAST_PICTURES'] === undefined) return;
  mkdirSync(`${root}/docs/pictures`, { recursive: true });
  writeFileSync(`${root}/docs/pictures/${name}.png`, withPalette(await page.screenshot()));
}

/**
 * Takes pictures of the page in light, dark and at 320 px, and says what axe finds, whether it is too wide, also at a zoom of
 * 200 %, and whether something moves although the person wants less of that.
 */
export async function inAllModes(page: Page, name: string): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const one of await findings(page)) wrong.push(`${name}, ${colorScheme}: ${one}`);
    await picture(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  if (Number(await page.evaluate('document.getAnimations().length')) > 0) wrong.push(`${name} moves`);
  // 640 is what a window of 1280 px has at a zoom of 200 %.
  for (const room of [640, 320]) {
    await page.setViewportSize({ width: room, height: 640 });
    const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
    if (width > room) wrong.push(`${name} is ${width} px wide at ${room} px`);
  }
  for (const one of await findings(page)) wrong.push(`${name}, 320 px: ${one}`);
  await picture(page, `${name}-320`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, `${name}-dark-320`);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: null });
  return wrong;
}
