"""tools/tidy names the file of a complaint, finds an unused `using`, and checks again what changed."""

import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
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
        folder = self.tidy.Folder((), sources)
        self.assertEqual(folder.file.read_text(), "1\n2\n3\n4\nfive\nsix\n")
        self.assertEqual(folder.placed(f"{folder.file}:4:7: error"), "starling/core/a.cpp:4:7: error")
        self.assertEqual(folder.placed(f"{folder.file}:5:1: error"), "starling/core/b.cpp:1:1: error")

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
