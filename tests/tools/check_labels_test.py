"""tools/check_labels fails when all tests of an expected label were skipped or are missing."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_labels"


def check(files=("tests/core/text_test.cpp", "examples/01_hello.cpp"), more=(), **status_of):
    """The tool's result for a tree with these files, one test of each given label, and more as "status label"."""
    with tempfile.TemporaryDirectory() as root:
        for name in files:
            Path(root, name).parent.mkdir(parents=True)
            Path(root, name).touch()
        cases = "".join(
            f'<testcase name="{label}.a" status="{status}"><properties>'
            f'<property name="cmake_labels" value="{label}"/></properties></testcase>'
            for label, status in [*status_of.items(), *(words.split()[::-1] for words in more)]
        )
        results = Path(root, "results.xml")
        results.write_text(f"<testsuite>{cases}</testsuite>")
        return subprocess.run([sys.executable, TOOL, results, root], capture_output=True, text=True)


class CheckLabels(unittest.TestCase):
    def test_all_ran(self):
        self.assertEqual(check(core="run", example="run", install="run", lint="run").returncode, 0)

    def test_skipped(self):
        result = check(core="notrun", example="run", install="run", lint="run")
        self.assertEqual(result.returncode, 1)
        self.assertIn("skipped: core.a", result.stdout)
        self.assertIn("no test labelled 'core' ran", result.stderr)

    def test_most_skipped(self):
        result = check(core="run", example="run", install="run", lint="run", more=["notrun core", "notrun core"])
        self.assertEqual(result.returncode, 1)
        self.assertIn("of the tests labelled 'core' 1 ran and 2 were skipped", result.stderr)
        self.assertEqual(check(core="run", example="run", install="run", lint="run", more=["notrun core"]).returncode, 0)

    def test_missing(self):
        result = check(core="run", install="run", lint="run")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no test labelled 'example' ran", result.stderr)

    def test_hosts(self):
        def code(status):
            return check(files=["tests/tools/hosts_test.py"], hosts=status, install="run", lint="run").returncode

        may_make_namespaces = subprocess.run(["unshare", "--uts", "true"], stderr=subprocess.DEVNULL).returncode == 0
        self.assertEqual(code("run"), 0)
        self.assertEqual(code("notrun"), 1 if may_make_namespaces else 0)


if __name__ == "__main__":
    unittest.main()
