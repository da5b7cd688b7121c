"""tools/tidy names the file of a complaint, finds an unused `using`, and checks again what changed."""

import tempfile
import unittest
from contextlib import redirect_stdout
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from io import StringIO
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "tidy"


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        loader = SourceFileLoader("tidy", str(TOOL))
        self.tidy = module_from_spec(spec_from_loader("tidy", loader))
        loader.exec_module(self.tidy)
        self.tidy.ROOT = Path(folder.name)
        self.tidy.FOLDERS = self.tidy.ROOT / "folders"
        self.tidy.FOLDERS.mkdir()
        self.write("tools/tidy", "")
        self.write(".clang-tidy", "")

    def write(self, name, text):
        file = self.tidy.ROOT / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def test_places_a_complaint(self):
        sources = [self.write("starling/core/b.cpp", "five\nsix\n"), self.write("starling/core/a.cpp", "1\n2\n3\n4\n")]
        text = self.tidy.Text((), sources)
        self.assertEqual(text.file.read_text(), "1\n2\n3\n4\nfive\nsix\n")
        self.assertEqual(text.placed(f"{text.file}:4:7: error"), "starling/core/a.cpp:4:7: error")
        self.assertEqual(text.placed(f"{text.file}:5:1: error"), "starling/core/b.cpp:1:1: error")

    def batch(self):
        self.tidy.PASSED = self.tidy.ROOT / "passed"
        self.tidy.PASSED.mkdir()
        sources = [self.write(f"starling/{name}/{name}.cpp", f"{name}\n") for name in ("a", "b")]
        return self.tidy.Batch([self.tidy.Folder((), [source]) for source in sources])

    def passed(self):
        return len(list(self.tidy.PASSED.iterdir()))

    def test_folders_of_a_batch_pass_together(self):
        batch = self.batch()
        self.tidy.Text.check = lambda text: ""
        self.assertEqual(self.tidy.check(batch), "")
        self.assertEqual(self.passed(), 2)

    def test_a_batch_with_a_complaint_does_not_pass(self):
        batch = self.batch()
        self.tidy.Text.check = lambda text: "b.cpp:1:1: error: wrong name [readability-identifier-naming]"
        self.assertIn("wrong name", self.tidy.check(batch))
        self.assertEqual(self.passed(), 0)

    def test_folders_that_do_not_compile_together_are_checked_alone(self):
        batch = self.batch()
        self.tidy.Text.check = lambda text: "[clang-diagnostic-error]" if "a\nb\n" in text.file.read_text() else ""
        with redirect_stdout(StringIO()) as printed:
            self.assertEqual(self.tidy.check(batch), "")
        self.assertIn("a name with two meanings", printed.getvalue())
        self.assertEqual(self.passed(), 2)

    def test_what_does_not_compile_alone_is_a_complaint(self):
        batch = self.batch()
        self.tidy.Text.check = lambda text: "[clang-diagnostic-error]" if "b\n" in text.file.read_text() else ""
        self.assertEqual(self.tidy.check(batch), "[clang-diagnostic-error]")
        self.assertEqual(self.passed(), 1)

    def test_finds_an_unused_using(self):
        file = self.tidy.File((), self.write("starling/core/a.cpp", "using a::Used;\nusing b::c::Unused;\nUsed x;\n"))
        self.assertEqual(file.unused_names(), "starling/core/a.cpp:2: error: nothing uses 'Unused'\n")

    def test_checks_again_after_a_change(self):
        source = self.write("starling/core/a.cpp", '#include "starling/core/a.h"\n')
        self.write("starling/core/a.h", '#include "starling/core/b.h"\n')
        self.write("starling/core/b.h", "int b;\n")
        before = self.tidy.File((), source).stamp()
        self.assertEqual(self.tidy.File((), source).stamp(), before)
        self.assertNotEqual(self.tidy.File(("-O2",), source).stamp(), before)
        self.write("starling/core/b.h", "int c;\n")
        self.assertNotEqual(self.tidy.File((), source).stamp(), before)


if __name__ == "__main__":
    unittest.main()
