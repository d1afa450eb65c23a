// Does in VS Code, in a browser, what a user does, and prints what is seen. For
// vscode_test.go, which starts the server:
//
//   node user.mjs URL CHROMIUM FILE
import { chromium } from 'playwright-core';

const [url, executablePath, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(300000);
const text = async () => (await page.locator('.view-line').allInnerTexts()).join('\n').replaceAll('\u00a0', ' ');
const until = async (what, f) => {
  for (const end = Date.now() + 300000; !(await f()); await page.waitForTimeout(200)) {
    if (Date.now() > end) throw new Error(what);
  }
};

await page.goto(url, { timeout: 300000 });
await page.locator('.explorer-folders-view .label-name', { hasText: file }).first().dblclick();
await page.waitForSelector('.squiggly-error');
console.log('underlined');
const colors = await page.locator('.view-line span').evaluateAll((all) => new Set(all.map((e) => e.className).filter((c) => c.startsWith('mtk'))).size);
console.log('colors', colors);

const word = await page.locator('.view-line span', { hasText: /amuont/ }).last().boundingBox();
const [x, y] = [word.x + word.width - 10, word.y + word.height / 2];
await until('no hover', async () => {
  await page.mouse.move(x - 1, y + 40);
  await page.mouse.move(x, y);
  await page.waitForTimeout(2000);
  return (await page.locator('.monaco-hover-content').allInnerTexts()).join().includes('did you mean');
});
console.log('hover', (await page.locator('.monaco-hover-content').allInnerTexts()).join().replaceAll('\n', ' '));

await page.mouse.click(x, y);
await until('no quick fix', async () => {
  await page.keyboard.press('Control+.');
  await page.waitForTimeout(2000);
  return page.locator('.action-widget').isVisible();
});
await page.keyboard.press('Enter');
await until('the fix does not help', async () => (await page.locator('.squiggly-error').count()) === 0);
console.log('fixed', (await text()).includes('price * amount'));

await until('no rename', async () => {
  await page.keyboard.press('F2');
  await page.waitForTimeout(2000);
  return page.locator('.rename-box').first().isVisible();
});
await page.keyboard.type('bought');
await page.keyboard.press('Enter');
await until('not renamed', async () => !(await text()).includes('amount'));
console.log('renamed', (await text()).split('bought').length - 1);

await page.keyboard.press('F1');
await page.waitForSelector('.quick-input-widget');
await page.keyboard.type('bilevelc: Solve this model');
await page.waitForSelector('.quick-input-list .monaco-list-row.focused:has-text("Solve this model")');
await page.keyboard.press('Enter');
await page.waitForSelector('.terminal-wrapper');
console.log('solving');
await page.waitForTimeout(1000);
process.stdin.resume(); // the test has seen what the program was asked to do, and closes it
process.stdin.on('end', async () => {
  await browser.close();
  process.exit(0);
});
