"""The page that bench/report makes, in a headless Chromium: it renders, the console stays silent, and every figure is
there and can be seen, on a phone and on a desk, dark and light. Needs gnuplot and chromium, no root."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "unit"))

import reportkit  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LIMIT_S = 120
WIDTHS = (360, 1000)
THEMES = {"light": "1", "dark": "0"}  # of Chromium's setting preferredColorScheme

# Runs inside of the page; what it finds out goes to the page around it, which has the width of a phone if need be.
PROBE = """
addEventListener('load', () => {
  const shade = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const luminance = colour => shade(colour).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const contrast = (one, two) => {
    const [dark, light] = [luminance(one), luminance(two)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const paper = getComputedStyle(document.body).backgroundColor;
  const figures = [...document.querySelectorAll('figure')].map(figure => {
    const shown = [...figure.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().height > 0);
    const box = shown[0] ? shown[0].getBoundingClientRect() : {};
    const texts = shown[0] ? [...shown[0].querySelectorAll('text')] : [];
    const inks = texts.filter(text => text.parentNode.getAttribute('fill') === 'currentColor')
      .map(text => contrast(getComputedStyle(text).fill, paper));
    const edges = texts.map(text => text.getBoundingClientRect());
    return {name: figure.id, shown: shown.length, width: box.width, height: box.height,
            label: shown[0] ? shown[0].getAttribute('aria-label') : null, texts: texts.length,
            contrast: Math.min(...inks), smallest: Math.min(...edges.map(edge => edge.height)),
            cut: edges.filter(edge => edge.left < box.left - 1 || edge.right > box.right + 1).length};
  });
  for (const details of document.querySelectorAll('details')) details.open = true;
  parent.postMessage({
    width: innerWidth, content: document.documentElement.scrollWidth, figures: figures,
    tables: document.querySelectorAll('figure + details table').length,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    contrast: contrast(getComputedStyle(document.body).color, paper)}, '*');
});
"""
FRAME = """<!doctype html><body style="margin:0"><script>
addEventListener('message', event => {{
  document.body.append(Object.assign(document.createElement('pre'),
    {{id: 'found', textContent: JSON.stringify(event.data)}}));
}});
</script><iframe src="probed.html" style="border:0;width:{width}px;height:900px"></iframe></body>
"""


def chromium(profile, url, *options):
    """(standard output, lines of the page's console)."""
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=10000", *options, url],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S,
        check=False)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


FIGURES = {"quick", "workloads", "dom", "batch", "gmet", "slice", "pairs", "mixed", "mpl", "gantt-workloads"}


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="cosched-report-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        reportkit.write(cls.folder, *reportkit.complete(runs=3))
        subprocess.run([os.path.join(ROOT, "bench", "run_report.sh"), cls.folder], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with open(os.path.join(cls.folder, "report.html"), encoding="utf-8") as file:
            cls.page = file.read()

    def load(self, name, *options):
        return chromium(os.path.join(self.folder, "profile"), f"file://{self.folder}/{name}", *options)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_the_console_stays_silent(self):
        dom, console = self.load("report.html", "--dump-dom")
        self.assertEqual(console, [])
        self.assertEqual(dom.count("<figure"), self.page.count("<figure"))

    def test_a_console_that_speaks_would_be_heard(self):
        self.write("loud.html", self.page.replace("</body>", "<img src='https://example.invalid/x.png'></body>"))
        _, console = self.load("loud.html", "--dump-dom")
        self.assertIn("Content Security Policy", " ".join(console))

    def probe(self, width, theme, page):
        policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", page)[0]
        self.write("probed.html", page.replace(policy, "").replace("</body>", f"<script>{PROBE}</script></body>"))
        self.write("frame.html", FRAME.format(width=width))
        dom, console = self.load("frame.html", "--dump-dom", "--window-size=1200,1000",
                                 f"--blink-settings=preferredColorScheme={THEMES[theme]}")
        self.assertEqual(console, [])
        return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))

    def test_every_figure_can_be_seen_at_every_width_and_in_both_themes(self):
        for width in WIDTHS:
            for theme in THEMES:
                with self.subTest(width=width, theme=theme):
                    self.check(self.probe(width, theme, self.page), width, theme)

    def check(self, found, width, theme):
        self.assertEqual((found["width"], found["dark"]), (width, theme == "dark"))
        self.assertLessEqual(found["content"], width, "the page is wider than the screen")
        self.assertGreaterEqual(found["contrast"], 7)
        self.assertEqual([figure["name"] for figure in found["figures"]],
                         re.findall(r'<figure id="([^"]*)"', self.page))
        self.assertLessEqual(FIGURES, {figure["name"] for figure in found["figures"]})
        self.assertEqual(found["tables"], len(found["figures"]))
        for figure in found["figures"]:
            with self.subTest(figure=figure["name"]):
                self.assertEqual(figure["shown"], 1)
                self.assertGreater(figure["width"], 0.8 * min(width, 800))
                self.assertGreater(figure["height"], 50)
                self.assertGreater(figure["texts"], 3)
                self.assertTrue(figure["label"])
                self.assertGreaterEqual(figure["contrast"], 7)
                self.assertGreaterEqual(figure["smallest"], 8)
                self.assertEqual(figure["cut"], 0, "texts beyond the edge")

    def test_a_page_that_is_too_wide_would_be_noticed(self):
        wide = self.page.replace("<body>", "<body><div style='width:3000px'>x</div>")
        self.assertGreater(self.probe(360, "light", wide)["content"], 360)

    def test_a_screenshot_can_be_made(self):
        path = os.path.join(self.folder, "shot.png")
        self.load("report.html", f"--screenshot={path}", "--window-size=1000,1400")
        self.assertGreater(os.path.getsize(path), 20000)


if __name__ == "__main__":
    missing = [name for name, there in (("gnuplot", shutil.which("gnuplot")), ("chromium", CHROMIUM)) if not there]
    if missing:
        print(f"{' and '.join(missing)} not installed (tests/packages_browser.txt)", file=sys.stderr)
        sys.exit(77)
    unittest.main()
